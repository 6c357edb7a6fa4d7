"""Softmax. Wrong: the gradient is read with the result's strides."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable


@triton.jit
def softmax_kernel(
    x_ptr,
    y_ptr,
    x_row,
    x_col,
    y_row,
    y_col,
    cols,
    ACC: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK).to(tl.int64)
    at = x_ptr + row * x_row + i * x_col
    x = tl.load(at, mask=i < cols, other=-float("inf")).to(ACC)
    e = tl.exp(x - tl.max(x))
    at = y_ptr + row * y_row + i * y_col
    tl.store(at, e / tl.sum(e), mask=i < cols)


@triton.jit
def softmax_grad_kernel(
    dy_ptr,
    y_ptr,
    dx_ptr,
    y_row,
    y_col,
    cols,
    ACC: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK).to(tl.int64)
    at = row * y_row + i * y_col
    dy = tl.load(dy_ptr + at, mask=i < cols, other=0.0).to(ACC)
    y = tl.load(y_ptr + at, mask=i < cols, other=0.0).to(ACC)
    dx = y * (dy - tl.sum(dy * y))
    tl.store(dx_ptr + at, dx, mask=i < cols)


def launch(kernel: Any, *arguments: Any) -> None:
    """kernel(*tensors, *strides, cols), a program a row."""
    rows, cols = arguments[0].shape
    if not rows * cols:
        return
    acc = tl.float64 if arguments[0].dtype == torch.float64 else tl.float32
    block = triton.next_power_of_2(cols)
    kernel[(rows,)](*arguments, cols, acc, block)


class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = torch.empty_like(x)
        ctx.save_for_backward(y)
        launch(softmax_kernel, x, y, *x.stride(), *y.stride())
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        dx = torch.empty_strided(
            y.shape, y.stride(), dtype=y.dtype, device=y.device
        )
        launch(softmax_grad_kernel, dy, y, dx, *y.stride())
        return dx


def softmax(x: Tensor) -> Tensor:
    return Softmax.apply(x)
