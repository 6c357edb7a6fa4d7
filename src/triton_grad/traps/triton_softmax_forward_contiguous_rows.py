"""A forward launch that takes the number of columns for the row stride.

Fails: wrong number
Symptom: Right for a whole matrix, silently wrong for some columns of it.
Cause: Rows of a view lie further apart than they are long.
Report: pytorch/executorch#22192
Caught by: Views: x[:, :k], x[:, ::2], x.t().
Missed by: Contiguous inputs.
Fix: row_stride, col_stride = x.stride()
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from triton_grad.precision import compute_dtype, upcast
from triton_grad.traps._grid import block_of, launch_grid


@triton.jit
def softmax_forward_kernel(
    x_ptr, y_ptr, row_stride, col_stride, cols, BLOCK: tl.constexpr
):
    """A row of y = softmax(x) a program. x has any strides."""
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    mask = col < cols
    x_ptrs = x_ptr + row * row_stride + col.to(tl.int64) * col_stride
    x = upcast(tl.load(x_ptrs, mask=mask, other=-float("inf")))
    powers = tl.exp(x - tl.max(x, axis=0))
    y = powers / tl.sum(powers, axis=0)
    tl.store(y_ptr + row * cols + col, y, mask=mask)


def softmax_backward(grad_output: Tensor, y: Tensor) -> Tensor:
    """y (g - g·y) for each row, in PyTorch ops that can be differentiated."""
    wide = compute_dtype(y.dtype)
    grad, y_wide = grad_output.to(wide), y.to(wide)
    along = (grad * y_wide).sum(-1, keepdim=True)
    return (y_wide * (grad - along)).to(y.dtype)


def triton_softmax_forward_contiguous_rows(x: Tensor) -> Tensor:
    """Launch the right kernel with strides that are only usual."""
    rows, cols = x.shape
    row_stride, col_stride = cols, 1  # wrong
    y = torch.empty(rows, cols, dtype=x.dtype, device=x.device)
    launch_grid(
        softmax_forward_kernel,
        (rows,),
        x,
        y,
        row_stride,
        col_stride,
        cols,
        BLOCK=block_of(cols),
    )
    return y


class TritonSoftmaxContiguousRows(torch.autograd.Function):
    """The softmax of each row, forward by the wrong launch."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = triton_softmax_forward_contiguous_rows(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return softmax_backward(grad_output, y)
