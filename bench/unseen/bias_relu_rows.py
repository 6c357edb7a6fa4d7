"""relu(x + bias). Wrong: the last rows have no program."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable


@triton.jit
def bias_relu_kernel(
    x_ptr,
    b_ptr,
    y_ptr,
    rows,
    cols,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
    ACC: tl.constexpr,
):
    r = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    c = tl.program_id(1).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = (r[:, None] < rows) & (c[None, :] < cols)
    at = r[:, None] * cols + c[None, :]
    x = tl.load(x_ptr + at, mask=inside).to(ACC)
    b = tl.load(b_ptr + c, mask=c < cols).to(ACC)
    z = x + b[None, :]
    tl.store(y_ptr + at, tl.where(z < 0, 0.0, z), mask=inside)


def run(kernel: Any, grid: Any, *arguments: Any) -> None:
    kernel[grid](*arguments)


class BiasRelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, b: Tensor) -> Tensor:
        x, b = x.contiguous(), b.contiguous()
        y, (rows, cols) = torch.empty_like(x), x.shape
        acc = tl.float64 if x.dtype == torch.float64 else tl.float32
        grid = (max(rows // 4, 1), triton.cdiv(cols, 32))
        run(bias_relu_kernel, grid, x, b, y, rows, cols, 4, 32, acc)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor]:
        (y,) = ctx.saved_tensors
        dx = torch.where(y > 0, dy, 0)
        wide = torch.promote_types(y.dtype, torch.float32)
        return dx, dx.sum(0, dtype=wide).to(y.dtype)


def bias_relu(x: Tensor, b: Tensor) -> Tensor:
    return BiasRelu.apply(x, b)
