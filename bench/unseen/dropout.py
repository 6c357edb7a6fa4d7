"""Dropout with a given mask, right."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable


@triton.jit
def dropout_kernel(
    x_ptr, keep_ptr, p, y_ptr, n, ACC: tl.constexpr, BLOCK: tl.constexpr
):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n).to(ACC)
    keep = tl.load(keep_ptr + i, mask=i < n) != 0
    tl.store(y_ptr + i, tl.where(keep, x / (1 - p), 0.0), mask=i < n)


@triton.jit
def dropout_grad_kernel(
    dy_ptr, keep_ptr, p, dx_ptr, n, ACC: tl.constexpr, BLOCK: tl.constexpr
):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    dy = tl.load(dy_ptr + i, mask=i < n).to(ACC)
    keep = tl.load(keep_ptr + i, mask=i < n) != 0
    tl.store(dx_ptr + i, tl.where(keep, dy / (1 - p), 0.0), mask=i < n)


def launch(kernel: Any, *tensors: Any) -> Tensor:
    out = torch.empty_like(tensors[0])
    n, acc = out.numel(), tl.float32
    if out.dtype == torch.float64:
        acc = tl.float64
    kernel[(triton.cdiv(n, 512),)](*tensors, out, n, ACC=acc, BLOCK=512)
    return out


class Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, keep: Tensor, p: float) -> Tensor:
        keep = keep.contiguous()
        ctx.save_for_backward(keep)
        ctx.p = p
        return launch(dropout_kernel, x.contiguous(), keep, p)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, None, None]:
        (keep,) = ctx.saved_tensors
        dx = launch(dropout_grad_kernel, dy.contiguous(), keep, ctx.p)
        return dx, None, None


def dropout(x: Tensor, keep: Tensor, p: float) -> Tensor:
    return Dropout.apply(x, keep, p)
