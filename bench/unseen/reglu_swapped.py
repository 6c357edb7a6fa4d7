"""ReGLU, relu(a) b. Wrong: the gradients come back swapped."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable


@triton.jit
def reglu_kernel(
    a_ptr, b_ptr, y_ptr, n, ACC: tl.constexpr, BLOCK: tl.constexpr
):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + i, mask=i < n).to(ACC)
    b = tl.load(b_ptr + i, mask=i < n).to(ACC)
    tl.store(y_ptr + i, tl.where(a < 0, 0.0, a) * b, mask=i < n)


@triton.jit
def reglu_grad_kernel(
    dy_ptr,
    a_ptr,
    b_ptr,
    da_ptr,
    db_ptr,
    n,
    ACC: tl.constexpr,
    BLOCK: tl.constexpr,
):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    dy = tl.load(dy_ptr + i, mask=i < n).to(ACC)
    a = tl.load(a_ptr + i, mask=i < n).to(ACC)
    b = tl.load(b_ptr + i, mask=i < n).to(ACC)
    tl.store(da_ptr + i, tl.where(a > 0, dy * b, 0.0), mask=i < n)
    tl.store(db_ptr + i, tl.where(a < 0, 0.0, a) * dy, mask=i < n)


def launch(kernel: Any, *tensors: Tensor) -> None:
    n, acc = tensors[0].numel(), tl.float32
    if tensors[0].dtype == torch.float64:
        acc = tl.float64
    kernel[(triton.cdiv(n, 512),)](*tensors, n, ACC=acc, BLOCK=512)


class ReGLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        a, b = a.contiguous(), b.contiguous()
        ctx.save_for_backward(a, b)
        y = torch.empty_like(a)
        launch(reglu_kernel, a, b, y)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor]:
        a, b = ctx.saved_tensors
        da, db = torch.empty_like(a), torch.empty_like(b)
        launch(reglu_grad_kernel, dy.contiguous(), a, b, da, db)
        return db, da


def reglu(a: Tensor, b: Tensor) -> Tensor:
    return ReGLU.apply(a, b)
