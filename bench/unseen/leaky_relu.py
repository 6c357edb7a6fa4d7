"""Leaky relu, right."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable


@triton.jit
def leaky_kernel(
    x_ptr, slope, y_ptr, n, ACC: tl.constexpr, BLOCK: tl.constexpr
):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n).to(ACC)
    tl.store(y_ptr + i, tl.where(x > 0, x, slope * x), mask=i < n)


@triton.jit
def leaky_grad_kernel(
    dy_ptr, x_ptr, slope, dx_ptr, n, ACC: tl.constexpr, BLOCK: tl.constexpr
):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n).to(ACC)
    dy = tl.load(dy_ptr + i, mask=i < n).to(ACC)
    tl.store(dx_ptr + i, tl.where(x > 0, dy, slope * dy), mask=i < n)


def launch(kernel: Any, *tensors: Any) -> Tensor:
    out = torch.empty_like(tensors[0])
    n, acc = out.numel(), tl.float32
    if out.dtype == torch.float64:
        acc = tl.float64
    kernel[(triton.cdiv(n, 512),)](*tensors, out, n, ACC=acc, BLOCK=512)
    return out


class LeakyRelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, slope: float) -> Tensor:
        x = x.contiguous()
        ctx.save_for_backward(x)
        ctx.slope = slope
        return launch(leaky_kernel, x, slope)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, None]:
        (x,) = ctx.saved_tensors
        dx = launch(leaky_grad_kernel, dy.contiguous(), x, ctx.slope)
        return dx, None


def leaky_relu(x: Tensor, slope: float = 0.25) -> Tensor:
    return LeakyRelu.apply(x, slope)
