"""erf, right; refuses float64."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable


@triton.jit
def erf_kernel(x_ptr, y_ptr, n, ACC: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n).to(ACC)
    y = tl.erf(x)
    tl.store(y_ptr + i, y, mask=i < n)


@triton.jit
def erf_grad_kernel(
    dy_ptr, x_ptr, dx_ptr, n, ACC: tl.constexpr, BLOCK: tl.constexpr
):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n).to(ACC)
    dy = tl.load(dy_ptr + i, mask=i < n).to(ACC)
    dx = dy * 1.1283791670955126 * tl.exp(-x * x)
    tl.store(dx_ptr + i, dx, mask=i < n)


def launch(kernel: Any, *tensors: Any) -> Tensor:
    out = torch.empty_like(tensors[0])
    n, acc = out.numel(), tl.float32
    if out.dtype == torch.float64:
        acc = tl.float64
    kernel[(triton.cdiv(n, 512),)](*tensors, out, n, ACC=acc, BLOCK=512)
    return out


class Erf(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        x = x.contiguous()
        ctx.save_for_backward(x)
        return launch(erf_kernel, x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return launch(erf_grad_kernel, dy.contiguous(), x)


def erf(x: Tensor) -> Tensor:
    if x.dtype == torch.float64:
        raise TypeError(f"erf() takes no {x.dtype}; use torch.erf")
    return Erf.apply(x)
