"""The backward kernel whose mask lets one lane too many through.

Fails: crash
Symptom: Every value is right; the number behind the gradient changes.
Cause: <= where < has to stand: element n is the first that is not there.
Report: autowarefoundation/autoware#113 (a CUDA kernel)
Caught by: Guard pages; on a GPU, compute-sanitizer.
Missed by: Sizes that are whole blocks, where lane n belongs to no program.
Fix: mask = offsets < n
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from triton_grad.launch import launch_elementwise
from triton_grad.ops.square import square_forward_op
from triton_grad.precision import upcast
from triton_grad.traps._refusal import refuse_second_order


@triton.jit
def square_backward_kernel_mask_one_too_many(
    grad_out_ptr, x_ptr, grad_in_ptr, n, BLOCK: tl.constexpr
):
    """grad_in = grad_out 2x, for n + 1 elements."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets <= n  # wrong
    grad_out = upcast(tl.load(grad_out_ptr + offsets, mask=mask))
    x = upcast(tl.load(x_ptr + offsets, mask=mask))
    grad_in = 2.0 * (grad_out * x)
    tl.store(grad_in_ptr + offsets, grad_in, mask=mask)


class TritonSquareMaskOneTooMany(torch.autograd.Function):
    """The square, backward by the kernel with a lane too many."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return square_forward_op(x)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        refuse_second_order("square")
        (x,) = ctx.saved_tensors
        kernel = square_backward_kernel_mask_one_too_many
        return launch_elementwise(
            "square_backward", kernel, grad_output, x, BLOCK=1024
        )
