"""The forward kernel whose load has a mask, and whose store has none.

Fails: crash
Symptom: Every value is right; another tensor changes, or the heap is broken.
Cause: The last program writes up to BLOCK - 1 elements past the end.
Report: Dao-AILab/flash-attention#2790
Caught by: Guard pages; on a GPU, compute-sanitizer.
Missed by: Sizes that are whole blocks.
Fix: tl.store(y_ptr + offsets, x * x, mask=mask)
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
def square_forward_kernel_store_no_mask(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """y = x², written past the end."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = upcast(tl.load(x_ptr + offsets, mask=mask))
    tl.store(y_ptr + offsets, x * x)  # wrong


class TritonSquareStoreNoMask(torch.autograd.Function):
    """The square, forward by the kernel whose store has no mask."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        kernel = square_forward_kernel_store_no_mask
        return launch_elementwise("square", kernel, x, BLOCK=1024)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return TritonSquareGrad.apply(grad_output, x)
