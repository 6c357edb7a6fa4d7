"""The softmax kernel whose padding lanes count as zeros.

Fails: wrong number
Symptom: Rows do not sum to 1, unless their length is a power of two.
Cause: Each lane past the row adds exp(0 - max) to the sum, and 0 may be max.
Report: tenstorrent/tt-metal#4599 (no Triton kernel)
Caught by: A length that is no power of two.
Missed by: Lengths that are powers of two.
Fix: x = upcast(tl.load(x_ptrs, mask=mask, other=-float("inf")))
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from triton_grad.precision import upcast
from triton_grad.traps._grid import block_of, launch_grid
from triton_grad.traps.triton_softmax_forward_contiguous_rows import (
    softmax_backward,
)


@triton.jit
def softmax_forward_kernel_zero_padding(
    x_ptr, y_ptr, cols, BLOCK: tl.constexpr
):
    """A row of y = softmax(x) a program, padded with zeros."""
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    mask = col < cols
    x_ptrs = x_ptr + row * cols + col
    x = upcast(tl.load(x_ptrs, mask=mask, other=0.0))  # wrong
    powers = tl.exp(x - tl.max(x, axis=0))
    y = powers / tl.sum(powers, axis=0)
    tl.store(y_ptr + row * cols + col, y, mask=mask)


class TritonSoftmaxZeroPadding(torch.autograd.Function):
    """The softmax of each row, forward by the wrong kernel."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        x = x.contiguous()
        rows, cols = x.shape
        y = torch.empty_like(x)
        launch_grid(
            softmax_forward_kernel_zero_padding,
            (rows,),
            x,
            y,
            cols,
            BLOCK=block_of(cols),
        )
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return softmax_backward(grad_output, y)
