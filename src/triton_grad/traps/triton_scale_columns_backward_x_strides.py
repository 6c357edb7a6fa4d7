"""A backward launch that gives x's strides to grad_output.

Fails: wrong number
Symptom: Right alone, wrong behind torch.cat, a transpose or sum().
Cause: The gradient has its own strides; that it has x's is only usual.
Report: pytorch/pytorch#194719
Caught by: A gradient that lies in memory otherwise than x.
Missed by: Contiguous tensors alone, and gradcheck, which feeds no others.
Fix: *grad_output.stride(),
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from triton_grad.precision import compute_dtype, upcast
from triton_grad.traps._grid import block_of, launch_grid
from triton_grad.traps._refusal import refuse_second_order


@triton.jit
def scale_columns_kernel(
    x_ptr,
    weight_ptr,
    y_ptr,
    row_stride,
    col_stride,
    cols,
    BLOCK: tl.constexpr,
):
    """A row of y = x weight a program. x has any strides, y is in order."""
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    mask = col < cols
    x_ptrs = x_ptr + row * row_stride + col.to(tl.int64) * col_stride
    x = upcast(tl.load(x_ptrs, mask=mask))
    weight = upcast(tl.load(weight_ptr + col, mask=mask))
    tl.store(y_ptr + row * cols + col, x * weight, mask=mask)


def triton_scale_columns_forward(x: Tensor, weight: Tensor) -> Tensor:
    """Launch on x with its strides. Autograd does not see it."""
    rows, cols = x.shape
    y = torch.empty(rows, cols, dtype=x.dtype, device=x.device)
    launch_grid(
        scale_columns_kernel,
        (rows,),
        x,
        weight.contiguous(),
        y,
        *x.stride(),
        cols,
        BLOCK=block_of(cols),
    )
    return y


def triton_scale_columns_backward_x_strides(
    grad_output: Tensor, x: Tensor, weight: Tensor
) -> Tensor:
    """Launch the same kernel on grad_output, with x's strides."""
    rows, cols = x.shape
    grad_input = torch.empty(rows, cols, dtype=x.dtype, device=x.device)
    launch_grid(
        scale_columns_kernel,
        (rows,),
        grad_output,
        weight.contiguous(),
        grad_input,
        *x.stride(),  # wrong
        cols,
        BLOCK=block_of(cols),
    )
    return grad_input


class TritonScaleColumnsXStrides(torch.autograd.Function):
    """Each column of x times its weight; backward by the wrong launch."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return triton_scale_columns_forward(x, weight)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, Tensor]:
        refuse_second_order("scale_columns")
        x, weight = ctx.saved_tensors
        wide = compute_dtype(x.dtype)
        products = grad_output.to(wide) * x.to(wide)
        return (
            triton_scale_columns_backward_x_strides(grad_output, x, weight),
            products.sum(0).to(weight.dtype),
        )
