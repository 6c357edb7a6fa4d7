"""Cross-entropy, mean over the rows, right."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable


@triton.jit
def cross_entropy_kernel(
    x_ptr,
    target_ptr,
    loss_ptr,
    dx_ptr,
    cols,
    ACC: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """A row's loss, and its gradient beside it, as fused losses do."""
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    at = x_ptr + row * cols + i
    x = tl.load(at, mask=i < cols, other=-float("inf")).to(ACC)
    target = tl.load(target_ptr + row)
    top = tl.max(x)
    e = tl.exp(x - top)
    total = tl.sum(e)
    chosen = tl.load(x_ptr + row * cols + target).to(ACC)
    tl.store(loss_ptr + row, tl.log(total) - (chosen - top))
    dx = e / total - tl.where(i == target, 1.0, 0.0)
    tl.store(dx_ptr + row * cols + i, dx, mask=i < cols)


def run(kernel: Any, grid: Any, *arguments: Any) -> None:
    kernel[grid](*arguments)


class CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, target: Tensor) -> Tensor:
        wide = torch.promote_types(x.dtype, torch.float32)
        ctx.dtype = x.dtype
        x, target, (rows, cols) = x.contiguous(), target.contiguous(), x.shape
        loss = torch.empty(rows, dtype=wide, device=x.device)
        dx = torch.empty_like(x, dtype=wide)
        if x.numel():
            acc = tl.float64 if wide == torch.float64 else tl.float32
            block = triton.next_power_of_2(cols)
            run(
                cross_entropy_kernel,
                (rows,),
                x,
                target,
                loss,
                dx,
                cols,
                acc,
                block,
            )
        ctx.save_for_backward(dx)
        return loss.mean().to(x.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_loss: Tensor) -> tuple[Tensor, None]:
        (dx,) = ctx.saved_tensors
        return (dx * (d_loss.to(dx.dtype) / len(dx))).to(ctx.dtype), None


def cross_entropy(x: Tensor, target: Tensor) -> Tensor:
    return CrossEntropy.apply(x, target)
