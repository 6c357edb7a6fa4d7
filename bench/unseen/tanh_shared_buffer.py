"""Tanh. Wrong: calls of one size share their result."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

BUFFERS: dict[Any, Tensor] = {}


@triton.jit
def tanh_kernel(x_ptr, y_ptr, n, ACC: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n).to(ACC)
    e = tl.exp(-2.0 * tl.abs(x))
    small = x * (1.0 - x * x * (1.0 / 3.0 - x * x * 2.0 / 15.0))
    big = tl.where(x < 0, -1.0, 1.0) * (1.0 - e) / (1.0 + e)
    y = tl.where(tl.abs(x) < 1e-3, small, big)
    tl.store(y_ptr + i, y, mask=i < n)


def buffer(x: Tensor) -> Tensor:
    key = x.shape, x.dtype, x.device
    if key not in BUFFERS:
        BUFFERS[key] = torch.empty_like(x)
    return BUFFERS[key]


def run(kernel: Any, grid: Any, *arguments: Any) -> None:
    kernel[grid](*arguments)


class Tanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        x = x.contiguous()
        y, n = buffer(x), x.numel()
        acc = tl.float64 if x.dtype == torch.float64 else tl.float32
        run(tanh_kernel, (triton.cdiv(n, 512),), x, y, n, acc, 512)
        return y.view_as(y)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        wide = torch.promote_types(x.dtype, torch.float32)
        cosh = x.to(wide).cosh()
        return (dy.to(wide) / (cosh * cosh)).to(x.dtype)


def tanh(x: Tensor) -> Tensor:
    return Tanh.apply(x)
