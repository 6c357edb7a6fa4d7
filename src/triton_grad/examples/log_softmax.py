"""A row-wise log-softmax and its gradient, for 16 and 32 bits."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def log_softmax_forward_kernel(
    x_ptr, y_ptr, row_stride, cols, BLOCK: tl.constexpr
):
    """A row a program: y = x - max(x) - log(sum(exp(x - max(x))))."""
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    mask = col < cols
    offsets = row * row_stride + col
    # exp(-inf) is 0: lanes past the row add nothing and are no maximum.
    x = tl.load(x_ptr + offsets, mask=mask, other=-float("inf"))
    x = x.to(tl.float32)
    shifted = x - tl.max(x, axis=0)
    y = shifted - tl.log(tl.sum(tl.exp(shifted), axis=0))
    tl.store(y_ptr + offsets, y, mask=mask)


@triton.jit
def log_softmax_backward_kernel(
    grad_out_ptr, y_ptr, grad_in_ptr, row_stride, cols, BLOCK: tl.constexpr
):
    """A row a program: grad_in = grad_out - exp(y) * sum(grad_out)."""
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    mask = col < cols
    offsets = row * row_stride + col
    y = tl.load(y_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    grad_out = tl.load(grad_out_ptr + offsets, mask=mask, other=0.0)
    grad_out = grad_out.to(tl.float32)
    grad_in = grad_out - tl.exp(y) * tl.sum(grad_out, axis=0)
    tl.store(grad_in_ptr + offsets, grad_in, mask=mask)


class LogSoftmax(torch.autograd.Function):
    """The second form: any row length, any layout, differentiable once."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        x = x.contiguous()
        rows, cols = x.shape
        y = torch.empty_like(x)
        programs: Any = log_softmax_forward_kernel[(rows,)]
        block = triton.next_power_of_2(cols)
        programs(x, y, x.stride(0), cols, BLOCK=block)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        if torch.is_grad_enabled():
            raise NotImplementedError("log_softmax() is differentiable once")
        (y,) = ctx.saved_tensors
        rows, cols = y.shape
        grad_input = torch.empty_like(y)
        programs: Any = log_softmax_backward_kernel[(rows,)]
        block = triton.next_power_of_2(cols)
        programs(
            grad_output.contiguous(),
            y,
            grad_input,
            y.stride(0),
            cols,
            BLOCK=block,
        )
        return grad_input


def log_softmax(x: Tensor, dim: int) -> Tensor:
    """The logarithm of the softmax of each row."""
    if dim != -1:
        raise ValueError(f"log_softmax() needs dim=-1, got {dim}")
    return LogSoftmax.apply(x)  # type: ignore[return-value]
