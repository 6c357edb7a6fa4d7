"""x += y, as a method with an underscore would. Right."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def add_kernel(x_ptr, y_ptr, n, ACC: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n).to(ACC)
    y = tl.load(y_ptr + i, mask=i < n).to(ACC)
    tl.store(x_ptr + i, x + y, mask=i < n)


def run(kernel: Any, grid: Any, *arguments: Any) -> None:
    kernel[grid](*arguments)


class Add(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
        if not x.is_contiguous():
            raise ValueError(f"add_() needs a contiguous x: {x.stride()}")
        ctx.mark_dirty(x)
        acc = tl.float64 if x.dtype == torch.float64 else tl.float32
        n = x.numel()
        run(
            add_kernel, (triton.cdiv(n, 512),), x, y.contiguous(), n, acc, 512
        )
        return x

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor]:
        return dy, dy


def add_(x: Tensor, y: Tensor) -> Tensor:
    return Add.apply(x, y)
