"""Softmax of rows, right; it keeps its result, not its input."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable


@triton.jit
def softmax_kernel(
    x_ptr, y_ptr, cols, ACC: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64) * cols
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row + i, mask=i < cols, other=-float("inf")).to(ACC)
    e = tl.exp(x - tl.max(x))
    tl.store(y_ptr + row + i, e / tl.sum(e), mask=i < cols)


@triton.jit
def softmax_grad_kernel(
    dy_ptr,
    y_ptr,
    dx_ptr,
    stride,
    cols,
    ACC: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64) * stride
    i = tl.arange(0, BLOCK)
    dy = tl.load(dy_ptr + row + i, mask=i < cols, other=0.0).to(ACC)
    y = tl.load(y_ptr + row + i, mask=i < cols, other=0.0).to(ACC)
    dx = y * (dy - tl.sum(dy * y))
    tl.store(dx_ptr + row + i, dx, mask=i < cols)


def run(kernel: Any, grid: Any, *arguments: Any) -> None:
    kernel[grid](*arguments)


class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        x = x.contiguous()
        y, (rows, cols) = torch.empty_like(x), x.shape
        ctx.save_for_backward(y)
        if y.numel():
            acc = tl.float64 if x.dtype == torch.float64 else tl.float32
            block = triton.next_power_of_2(cols)
            run(softmax_kernel, (rows,), x, y, cols, acc, block)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        dy = dy.contiguous()
        dx, (rows, cols) = torch.empty_like(y), y.shape
        if dx.numel():
            acc = tl.float64 if y.dtype == torch.float64 else tl.float32
            block = triton.next_power_of_2(cols)
            run(
                softmax_grad_kernel,
                (rows,),
                dy,
                y,
                dx,
                y.stride(0),
                cols,
                acc,
                block,
            )
        return dx


def softmax(x: Tensor) -> Tensor:
    return Softmax.apply(x)
