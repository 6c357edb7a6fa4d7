"""The forward kernel that counts elements in 32 bits.

Fails: crash
Symptom: An illegal memory access, for tensors of 2³¹ elements and more.
Cause: program_id is an int32: pid * BLOCK is -2³¹ where 2³¹ is meant.
Report: triton-lang/triton#1058
Caught by: A tensor of 2³¹ elements, or the address that a program so far
    out would form.
Missed by: Every tensor that fits into an ordinary test.
Fix: offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
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
def square_forward_kernel_32_bit_offset(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """y = x², with offsets that wrap."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)  # wrong
    mask = offsets < n
    x = upcast(tl.load(x_ptr + offsets, mask=mask))
    tl.store(y_ptr + offsets, x * x, mask=mask)


class TritonSquare32BitOffset(torch.autograd.Function):
    """The square, forward by the kernel whose offsets wrap."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        kernel = square_forward_kernel_32_bit_offset
        return launch_elementwise("square", kernel, x, BLOCK=1024)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return TritonSquareGrad.apply(grad_output, x)
