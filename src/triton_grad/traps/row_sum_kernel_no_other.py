"""The sum's kernel that does not say what lanes past the row are.

Fails: wrong number
Symptom: None on the interpreter, where they read 0; on a GPU mostly none.
Cause: Without `other` a masked lane is undefined, and the sum includes it.
Report: flagos-ai/FlagGems#3716, vllm-project/vllm#9014
Caught by: Masked lanes that are NaN: what does not matter may be that.
Missed by: Every run in which such lanes happen to be 0.
Fix: x = upcast(tl.load(x_ptrs, mask=col < cols, other=0.0))
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from triton_grad.precision import upcast
from triton_grad.traps._grid import block_of, launch_grid


@triton.jit
def row_sum_kernel_no_other(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    """The sum of a row a program, and of whatever else is there."""
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    x_ptrs = x_ptr + row * cols + col
    x = upcast(tl.load(x_ptrs, mask=col < cols))  # wrong
    tl.store(y_ptr + row, tl.sum(x, axis=0))


class TritonRowSumNoOther(torch.autograd.Function):
    """The sum of each row, forward by the wrong kernel."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.shape = rows, cols = x.shape
        y = torch.empty(rows, dtype=x.dtype, device=x.device)
        launch_grid(
            row_sum_kernel_no_other,
            (rows,),
            x.contiguous(),
            y,
            cols,
            BLOCK=block_of(cols),
        )
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        return grad_output[:, None].expand(ctx.shape)
