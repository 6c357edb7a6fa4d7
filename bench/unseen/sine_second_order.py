"""Sine. Wrong: the gradient leaves the graph without a word."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def sine_kernel(x_ptr, y_ptr, n, ACC: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n).to(ACC)
    y = tl.sin(x)
    tl.store(y_ptr + i, y, mask=i < n)


@triton.jit
def sine_grad_kernel(
    dy_ptr, x_ptr, dx_ptr, n, ACC: tl.constexpr, BLOCK: tl.constexpr
):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n).to(ACC)
    dy = tl.load(dy_ptr + i, mask=i < n).to(ACC)
    dx = dy * tl.cos(x)
    tl.store(dx_ptr + i, dx, mask=i < n)


def launch(kernel: Any, *tensors: Any) -> Tensor:
    out = torch.empty_like(tensors[0])
    n, acc = out.numel(), tl.float32
    if out.dtype == torch.float64:
        acc = tl.float64
    kernel[(triton.cdiv(n, 512),)](*tensors, out, n, ACC=acc, BLOCK=512)
    return out


class Sine(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        x = x.contiguous()
        ctx.save_for_backward(x)
        return launch(sine_kernel, x)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return launch(sine_grad_kernel, dy.contiguous(), x)


def sine(x: Tensor) -> Tensor:
    return Sine.apply(x)
