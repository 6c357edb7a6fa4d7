"""Softplus that does not overflow, right."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable


@triton.jit
def log1p(u):
    """log(1 + u) for 0 <= u <= 1, to the last digits: Goldberg's trick."""
    v = 1.0 + u
    exact = v - 1.0
    return tl.where(exact == 0, u, tl.log(v) * (u / exact))


@triton.jit
def softplus_kernel(x_ptr, y_ptr, n, ACC: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n).to(ACC)
    y = tl.where(x < 0, 0.0, x) + log1p(tl.exp(-tl.abs(x)))
    tl.store(y_ptr + i, y, mask=i < n)


@triton.jit
def softplus_grad_kernel(
    dy_ptr, x_ptr, dx_ptr, n, ACC: tl.constexpr, BLOCK: tl.constexpr
):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n).to(ACC)
    dy = tl.load(dy_ptr + i, mask=i < n).to(ACC)
    u = tl.exp(-tl.abs(x))
    slope = tl.where(x < 0, u, 1.0) / (1.0 + u)
    tl.store(dx_ptr + i, dy * slope, mask=i < n)


def launch(kernel: Any, *tensors: Any) -> Tensor:
    out = torch.empty_like(tensors[0])
    n, acc = out.numel(), tl.float32
    if out.dtype == torch.float64:
        acc = tl.float64
    kernel[(triton.cdiv(n, 512),)](*tensors, out, n, ACC=acc, BLOCK=512)
    return out


class Softplus(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        x = x.contiguous()
        ctx.save_for_backward(x)
        return launch(softplus_kernel, x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return launch(softplus_grad_kernel, dy.contiguous(), x)


def softplus(x: Tensor) -> Tensor:
    return Softplus.apply(x)
