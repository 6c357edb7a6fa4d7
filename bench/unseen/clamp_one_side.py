"""Clamp. Wrong: the gradient passes above the upper bound."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable


@triton.jit
def clamp_kernel(
    x_ptr, low, high, y_ptr, n, ACC: tl.constexpr, BLOCK: tl.constexpr
):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n).to(ACC)
    y = tl.where(x < low, low, tl.where(x > high, high, x))
    tl.store(y_ptr + i, y, mask=i < n)


@triton.jit
def clamp_grad_kernel(
    dy_ptr, x_ptr, low, dx_ptr, n, ACC: tl.constexpr, BLOCK: tl.constexpr
):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n).to(ACC)
    dy = tl.load(dy_ptr + i, mask=i < n).to(ACC)
    tl.store(dx_ptr + i, tl.where(x >= low, dy, 0.0), mask=i < n)


def launch(kernel: Any, *tensors: Any) -> Tensor:
    out = torch.empty_like(tensors[0])
    n, acc = out.numel(), tl.float32
    if out.dtype == torch.float64:
        acc = tl.float64
    kernel[(triton.cdiv(n, 512),)](*tensors, out, n, ACC=acc, BLOCK=512)
    return out


class Clamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, low: float, high: float) -> Tensor:
        x = x.contiguous()
        ctx.save_for_backward(x)
        ctx.low = low
        return launch(clamp_kernel, x, low, high)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, None, None]:
        (x,) = ctx.saved_tensors
        dx = launch(clamp_grad_kernel, dy.contiguous(), x, ctx.low)
        return dx, None, None


def clamp(x: Tensor, low: float, high: float) -> Tensor:
    return Clamp.apply(x, low, high)
