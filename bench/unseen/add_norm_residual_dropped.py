"""Add, then RMS norm. Wrong: the sum's own gradient is dropped."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable


@triton.jit
def add_norm_kernel(
    x_ptr,
    residual_ptr,
    y_ptr,
    h_ptr,
    cols,
    eps,
    ACC: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64) * cols
    i = tl.arange(0, BLOCK)
    inside = i < cols
    x = tl.load(x_ptr + row + i, mask=inside, other=0.0).to(ACC)
    residual = tl.load(residual_ptr + row + i, mask=inside, other=0.0)
    h = x + residual.to(ACC)
    inverse = 1.0 / tl.sqrt(tl.sum(h * h) / cols + eps)
    tl.store(h_ptr + row + i, h, mask=inside)
    tl.store(y_ptr + row + i, h * inverse, mask=inside)


def run(kernel: Any, grid: Any, *arguments: Any) -> None:
    kernel[grid](*arguments)


class AddNorm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, residual: Tensor, eps: float
    ) -> tuple[Tensor, Tensor]:
        x, residual = x.contiguous(), residual.contiguous()
        wide = torch.promote_types(x.dtype, torch.float32)
        y, h = torch.empty_like(x), torch.empty_like(x)
        ctx.save_for_backward(x.to(wide) + residual.to(wide))
        ctx.eps, ctx.dtype, (rows, cols) = eps, x.dtype, x.shape
        if y.numel():
            acc = tl.float64 if wide == torch.float64 else tl.float32
            block = triton.next_power_of_2(cols)
            run(
                add_norm_kernel,
                (rows,),
                x,
                residual,
                y,
                h,
                cols,
                eps,
                acc,
                block,
            )
        return y, h

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, dy: Tensor, dh: Tensor
    ) -> tuple[Tensor, Tensor, None]:
        (h,) = ctx.saved_tensors
        r = (h.square().mean(-1, keepdim=True) + ctx.eps).rsqrt()
        g = dy.to(h.dtype) * r
        dx = g - h * r * r * (g * h).mean(-1, keepdim=True)
        dx = dx.to(ctx.dtype)
        return dx, dx, None


def add_norm(
    x: Tensor, residual: Tensor, eps: float
) -> tuple[Tensor, Tensor]:
    return AddNorm.apply(x, residual, eps)


def add_norm_in_torch(
    x: Tensor, residual: Tensor, eps: float
) -> tuple[Tensor, Tensor]:
    h = x + residual
    return torch.nn.functional.rms_norm(h, h.shape[-1:], eps=eps), h
