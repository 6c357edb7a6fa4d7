"""Running sum. Wrong: an element misses its own gradient."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable


@triton.jit
def cumsum_kernel(x_ptr, y_ptr, cols, ACC: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * cols
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row + i, mask=i < cols, other=0.0).to(ACC)
    tl.store(y_ptr + row + i, tl.cumsum(x, 0), mask=i < cols)


@triton.jit
def cumsum_grad_kernel(
    dy_ptr, dx_ptr, cols, ACC: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64) * cols
    i = tl.arange(0, BLOCK)
    dy = tl.load(dy_ptr + row + i, mask=i < cols, other=0.0).to(ACC)
    dx = tl.cumsum(dy, 0, reverse=True) - dy
    tl.store(dx_ptr + row + i, dx, mask=i < cols)


def launch(kernel: Any, x: Tensor) -> Tensor:
    x = x.contiguous()
    out, (rows, cols) = torch.empty_like(x), x.shape
    if out.numel():
        acc = tl.float64 if x.dtype == torch.float64 else tl.float32
        kernel[(rows,)](x, out, cols, acc, triton.next_power_of_2(cols))
    return out


class Cumsum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return launch(cumsum_kernel, x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> Tensor:
        return launch(cumsum_grad_kernel, dy)


def cumsum(x: Tensor) -> Tensor:
    return Cumsum.apply(x)
