"""The forward kernel whose load has no mask, and whose store has one.

Fails: crash
Symptom: Every value is right; now and then a process or a GPU dies of it.
Cause: The last program reads up to BLOCK - 1 elements past the end.
Report: triton-lang/triton#630
Caught by: Guard pages; on a GPU, compute-sanitizer.
Missed by: Comparing values; sizes that are whole blocks.
Fix: x = upcast(tl.load(x_ptr + offsets, mask=mask))
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from triton_grad.launch import launch_elementwise
from triton_grad.ops.square import TritonSquareGrad
from triton_grad.precision import upcast


@triton.jit
def square_forward_kernel_load_no_mask(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """y = x², read past the end."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = upcast(tl.load(x_ptr + offsets))  # wrong
    tl.store(y_ptr + offsets, x * x, mask=mask)


class TritonSquareLoadNoMask(torch.autograd.Function):
    """The square, forward by the kernel whose load has no mask."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        kernel = square_forward_kernel_load_no_mask
        return launch_elementwise("square", kernel, x, BLOCK=1024)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return TritonSquareGrad.apply(grad_output, x)
