"""The mean's kernel that divides by the lanes it has, not by the columns.

Fails: wrong number
Symptom: The mean is too near to 0, unless its length is a power of two.
Cause: Lanes past the row add 0 to the sum and 1 to what it is divided by.
Report: sonos/tract#2851 (average pooling on a CPU)
Caught by: A length that is no power of two.
Missed by: Lengths that are powers of two.
Fix: tl.store(y_ptr + row, tl.sum(x, axis=0) / cols)
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from triton_grad.precision import upcast
from triton_grad.traps._grid import block_of, launch_grid


@triton.jit
def row_mean_kernel_divides_by_block(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    """The mean of a row a program, padding lanes included."""
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    x_ptrs = x_ptr + row * cols + col
    x = upcast(tl.load(x_ptrs, mask=col < cols, other=0.0))
    tl.store(y_ptr + row, tl.sum(x, axis=0) / BLOCK)  # wrong


class TritonRowMeanDividesByBlock(torch.autograd.Function):
    """The mean of each row, forward by the wrong kernel."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.shape = rows, cols = x.shape
        y = torch.empty(rows, dtype=x.dtype, device=x.device)
        launch_grid(
            row_mean_kernel_divides_by_block,
            (rows,),
            x.contiguous(),
            y,
            cols,
            BLOCK=block_of(cols),
        )
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        rows, cols = ctx.shape
        return (grad_output / cols)[:, None].expand(rows, cols)
