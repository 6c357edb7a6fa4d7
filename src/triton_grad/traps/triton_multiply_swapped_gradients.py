"""A Function that hands each of its two inputs the other one's gradient.

Fails: wrong number
Symptom: Each input is handed the other's gradient.
Cause: d(xy)/dx is y, and x comes first in the formula as in forward.
Report: none found
Caught by: Inputs that differ.
Missed by: Inputs that are equal, as when both are drawn from one seed.
Fix: return grad_output * y, grad_output * x
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from triton_grad.launch import launch_elementwise
from triton_grad.precision import upcast


@triton.jit
def multiply_forward_kernel(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    """z = x y, BLOCK elements a program."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = upcast(tl.load(x_ptr + offsets, mask=mask))
    y = upcast(tl.load(y_ptr + offsets, mask=mask))
    tl.store(z_ptr + offsets, x * y, mask=mask)


class TritonMultiplySwappedGradients(torch.autograd.Function):
    """The product of two tensors of one shape."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
        ctx.save_for_backward(x, y)
        kernel = multiply_forward_kernel
        return launch_elementwise("multiply", kernel, x, y, BLOCK=1024)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, Tensor]:
        x, y = ctx.saved_tensors
        return grad_output * x, grad_output * y  # wrong
