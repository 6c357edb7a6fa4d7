"""The maximum of each row and where it is: two results, one of ints."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable


@triton.jit
def row_max_kernel(x_ptr, y_ptr, where_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    at = x_ptr + row * cols + i
    x = tl.load(at, mask=i < cols, other=-float("inf"))
    # As in PyTorch, the first nan is the maximum.
    odd = tl.max(tl.where(x != x, BLOCK - i, 0))
    best = tl.max(x)
    place = tl.min(tl.where((x == best) & (i < cols), i, BLOCK))
    place = tl.where(odd > 0, BLOCK - odd, place)
    tl.store(y_ptr + row, tl.load(x_ptr + row * cols + place))
    tl.store(where_ptr + row, place.to(tl.int64))


def run(kernel: Any, grid: Any, *arguments: Any) -> None:
    kernel[grid](*arguments)


class RowMax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        x, (rows, cols) = x.contiguous(), x.shape
        if not cols:
            raise IndexError("row_max() needs at least one column, got 0")
        y = x.new_empty(rows)
        place = torch.empty(rows, dtype=torch.int64, device=x.device)
        block = triton.next_power_of_2(cols)
        run(row_max_kernel, (rows,), x, y, place, cols, block)
        ctx.save_for_backward(place)
        ctx.mark_non_differentiable(place)
        ctx.cols = cols
        return y, place

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor, _: Tensor) -> Tensor:
        (place,) = ctx.saved_tensors
        dx = dy.new_zeros(len(dy), ctx.cols)
        return dx.scatter_(1, place[:, None], dy[:, None])


def row_max(x: Tensor) -> tuple[Tensor, Tensor]:
    return RowMax.apply(x)
