"""x / sum(x²). Wrong: programs read the sum while others still add."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable


@triton.jit
def normalize_kernel(
    x_ptr, total_ptr, y_ptr, n, ACC: tl.constexpr, BLOCK: tl.constexpr
):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0).to(ACC)
    tl.atomic_add(total_ptr, tl.sum(x * x))
    tl.debug_barrier()
    tl.store(y_ptr + i, x / tl.load(total_ptr), mask=i < n)


def run(kernel: Any, grid: Any, *arguments: Any) -> None:
    kernel[grid](*arguments)


class Normalize(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        x = x.contiguous()
        wide = torch.promote_types(x.dtype, torch.float32)
        total = torch.zeros(1, dtype=wide, device=x.device)
        y, n = torch.empty_like(x), x.numel()
        acc = tl.float64 if wide == torch.float64 else tl.float32
        run(
            normalize_kernel, (triton.cdiv(n, 256),), x, total, y, n, acc, 256
        )
        ctx.save_for_backward(x)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        wide = torch.promote_types(x.dtype, torch.float32)
        v, up = x.to(wide), dy.to(wide)
        total = v.square().sum()
        dx = up / total - 2 * v * (up * v).sum() / total.square()
        return dx.to(x.dtype)


def normalize(x: Tensor) -> Tensor:
    return Normalize.apply(x)
