"""Hard swish. Wrong: offsets of 32 bits."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable


@triton.jit
def hardswish_kernel(x_ptr, y_ptr, n, ACC: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n).to(ACC)
    gate = tl.where(x < -3, 0.0, tl.where(x > 3, 6.0, x + 3.0))
    y = x * (gate / 6.0)
    tl.store(y_ptr + i, y, mask=i < n)


@triton.jit
def hardswish_grad_kernel(
    dy_ptr, x_ptr, dx_ptr, n, ACC: tl.constexpr, BLOCK: tl.constexpr
):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n).to(ACC)
    dy = tl.load(dy_ptr + i, mask=i < n).to(ACC)
    inner = (2.0 * x + 3.0) / 6.0
    dx = dy * tl.where(x < -3, 0.0, tl.where(x > 3, 1.0, inner))
    tl.store(dx_ptr + i, dx, mask=i < n)


def launch(kernel: Any, *tensors: Any) -> Tensor:
    out = torch.empty_like(tensors[0])
    n, acc = out.numel(), tl.float32
    if out.dtype == torch.float64:
        acc = tl.float64
    kernel[(triton.cdiv(n, 512),)](*tensors, out, n, ACC=acc, BLOCK=512)
    return out


class Hardswish(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        x = x.contiguous()
        ctx.save_for_backward(x)
        return launch(hardswish_kernel, x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return launch(hardswish_grad_kernel, dy.contiguous(), x)


def hardswish(x: Tensor) -> Tensor:
    return Hardswish.apply(x)
