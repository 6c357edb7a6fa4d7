"""SwiGLU, right: a kernel forward, PyTorch ops backward."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def swiglu_kernel(
    a_ptr, b_ptr, y_ptr, n, ACC: tl.constexpr, BLOCK: tl.constexpr
):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + i, mask=i < n).to(ACC)
    b = tl.load(b_ptr + i, mask=i < n).to(ACC)
    tl.store(y_ptr + i, a * tl.sigmoid(a) * b, mask=i < n)


def run(kernel: Any, grid: Any, *arguments: Any) -> None:
    kernel[grid](*arguments)


class SwiGLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a, b)
        a, b = a.contiguous(), b.contiguous()
        y = torch.empty_like(a)
        n = y.numel()
        acc = tl.float64 if a.dtype == torch.float64 else tl.float32
        run(swiglu_kernel, (triton.cdiv(n, 256),), a, b, y, n, acc, 256)
        return y

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor]:
        wide = torch.promote_types(dy.dtype, torch.float32)
        a, b = ctx.saved_tensors
        up, x, y = dy.to(wide), a.to(wide), b.to(wide)
        s = x.sigmoid()
        da = up * y * s * (1 + x * (1 - s))
        return da.to(a.dtype), (up * x * s).to(b.dtype)


def swiglu(a: Tensor, b: Tensor) -> Tensor:
    return SwiGLU.apply(a, b)
