"""Embedding. Wrong: the gradient's memory is not zeroed."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable


@triton.jit
def embedding_kernel(table_ptr, index_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    at = tl.load(index_ptr + row) * cols + i
    y = tl.load(table_ptr + at, mask=i < cols)
    tl.store(y_ptr + row * cols + i, y, mask=i < cols)


@triton.jit
def embedding_grad_kernel(
    dy_ptr, index_ptr, d_table_ptr, cols, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    at = d_table_ptr + tl.load(index_ptr + row) * cols + i
    dy = tl.load(dy_ptr + row * cols + i, mask=i < cols, other=0.0)
    tl.atomic_add(at, dy, mask=i < cols)


def run(kernel: Any, grid: Any, *arguments: Any) -> None:
    kernel[grid](*arguments)


class Embedding(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, index: Tensor) -> Tensor:
        table, index = table.contiguous(), index.contiguous()
        ctx.save_for_backward(index)
        ctx.table = table.shape, table.dtype
        rows, cols = index.numel(), table.shape[1]
        y = table.new_empty(rows, cols)
        if y.numel():
            block = triton.next_power_of_2(cols)
            run(embedding_kernel, (rows,), table, index, y, cols, block)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, None]:
        (index,) = ctx.saved_tensors
        shape, dtype = ctx.table
        # In 16 bits a sum of many rows would lose its last ones.
        wide = torch.promote_types(dtype, torch.float32)
        dy = dy.to(wide).contiguous()
        d_table = dy.new_empty(shape)
        if dy.numel():
            block = triton.next_power_of_2(shape[1])
            run(
                embedding_grad_kernel,
                (index.numel(),),
                dy,
                index,
                d_table,
                shape[1],
                block,
            )
        return d_table.to(dtype), None


def embedding(table: Tensor, index: Tensor) -> Tensor:
    return Embedding.apply(table, index)
