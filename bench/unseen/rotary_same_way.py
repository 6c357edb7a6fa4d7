"""Rotary embedding. Wrong: the gradient turns as the result does."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def rotary_kernel(
    x_ptr,
    cos_ptr,
    sin_ptr,
    y_ptr,
    half,
    ACC: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    i = tl.program_id(1).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = i < half
    first = row * 2 * half + i
    a = tl.load(x_ptr + first, mask=inside).to(ACC)
    b = tl.load(x_ptr + first + half, mask=inside).to(ACC)
    cos = tl.load(cos_ptr + row * half + i, mask=inside).to(ACC)
    sin = tl.load(sin_ptr + row * half + i, mask=inside).to(ACC)
    tl.store(y_ptr + first, a * cos - b * sin, mask=inside)
    tl.store(y_ptr + first + half, b * cos + a * sin, mask=inside)


def run(kernel: Any, grid: Any, *arguments: Any) -> None:
    kernel[grid](*arguments)


class Rotary(torch.autograd.Function):
    """x: (rows, 2, half); cos and sin: (rows, half), taken as constants."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        ctx.save_for_backward(cos, sin)
        x, cos, sin = x.contiguous(), cos.contiguous(), sin.contiguous()
        rows, half = cos.shape
        y = torch.empty_like(x)
        acc = tl.float64 if x.dtype == torch.float64 else tl.float32
        grid = (rows, triton.cdiv(half, 64))
        run(rotary_kernel, grid, x, cos, sin, y, half, acc, 64)
        return y

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, None, None]:
        cos, sin = ctx.saved_tensors
        return Rotary.apply(dy, cos, sin), None, None


def rotary(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    return Rotary.apply(x, cos.detach(), sin.detach())


def rotary_in_torch(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    a, b = x.unbind(1)
    cos, sin = cos.detach(), sin.detach()
    return torch.stack((a * cos - b * sin, b * cos + a * sin), dim=1)
