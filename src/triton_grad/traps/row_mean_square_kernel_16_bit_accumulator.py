"""The kernel that adds tiles up in the dtype of its input.

Fails: wrong number
Symptom: In 16 bits the digits go as rows grow; in the end the sum stands.
Cause: Each tile's sum is rounded to 11 bits, or 8, before the next is added.
Report: triton-lang/triton#1960
Caught by: float16 and long rows, held to a unit in the last place.
Missed by: float32; a tolerance of two digits.
Fix: total = upcast(tl.zeros((1,), dtype=x_ptr.dtype.element_ty))
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from triton_grad.precision import compute_dtype, upcast
from triton_grad.traps._grid import launch_grid


@triton.jit
def row_mean_square_kernel_16_bit_accumulator(
    x_ptr, y_ptr, cols, BLOCK: tl.constexpr
):
    """The mean of a row's squares a program, tile after tile."""
    row = tl.program_id(0).to(tl.int64)
    total = tl.zeros((1,), dtype=x_ptr.dtype.element_ty)  # wrong
    for start in range(0, cols, BLOCK):
        col = start + tl.arange(0, BLOCK)
        x_ptrs = x_ptr + row * cols + col
        x = upcast(tl.load(x_ptrs, mask=col < cols, other=0.0))
        total += tl.sum(x * x, axis=0).to(total.dtype)
    tl.store(y_ptr + row + tl.arange(0, 1), upcast(total) / cols)


class TritonRowMeanSquare16BitAccumulator(torch.autograd.Function):
    """The mean of the squares of each row, forward by the wrong kernel."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        rows, cols = x.shape
        y = torch.empty(rows, dtype=x.dtype, device=x.device)
        launch_grid(
            row_mean_square_kernel_16_bit_accumulator,
            (rows,),
            x.contiguous(),
            y,
            cols,
            BLOCK=16,
        )
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        wide = compute_dtype(x.dtype)
        grad = grad_output.to(wide) * (2.0 / x.shape[1])
        return (grad[:, None] * x.to(wide)).to(x.dtype)
