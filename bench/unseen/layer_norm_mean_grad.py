"""Layer norm. Wrong: the weight's gradient is a mean over the rows."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable


@triton.jit
def layer_norm_kernel(
    x_ptr,
    w_ptr,
    b_ptr,
    y_ptr,
    mean_ptr,
    inverse_ptr,
    cols,
    eps,
    ACC: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    inside = i < cols
    x = tl.load(x_ptr + row * cols + i, mask=inside, other=0.0).to(ACC)
    mean = tl.sum(x) / cols
    centred = tl.where(inside, x - mean, 0.0)
    inverse = 1.0 / tl.sqrt(tl.sum(centred * centred) / cols + eps)
    w = tl.load(w_ptr + i, mask=inside, other=0.0).to(ACC)
    b = tl.load(b_ptr + i, mask=inside, other=0.0).to(ACC)
    y = centred * inverse * w + b
    tl.store(y_ptr + row * cols + i, y, mask=inside)
    tl.store(mean_ptr + row, mean)
    tl.store(inverse_ptr + row, inverse)


@triton.jit
def layer_norm_grad_kernel(
    dy_ptr,
    x_ptr,
    w_ptr,
    mean_ptr,
    inverse_ptr,
    dx_ptr,
    cols,
    ACC: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    inside = i < cols
    dy = tl.load(dy_ptr + row * cols + i, mask=inside, other=0.0).to(ACC)
    x = tl.load(x_ptr + row * cols + i, mask=inside, other=0.0).to(ACC)
    w = tl.load(w_ptr + i, mask=inside, other=0.0).to(ACC)
    inverse = tl.load(inverse_ptr + row)
    normed = tl.where(inside, (x - tl.load(mean_ptr + row)) * inverse, 0.0)
    g = dy * w
    shared = normed * (tl.sum(g * normed) / cols) + tl.sum(g) / cols
    tl.store(dx_ptr + row * cols + i, (g - shared) * inverse, mask=inside)


def run(kernel: Any, grid: Any, *arguments: Any) -> None:
    kernel[grid](*arguments)


class LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, w: Tensor, b: Tensor, eps: float
    ) -> Tensor:
        x, w, b = x.contiguous(), w.contiguous(), b.contiguous()
        wide = torch.promote_types(x.dtype, torch.float32)
        y, (rows, cols) = torch.empty_like(x), x.shape
        mean, inverse = torch.empty(2, rows, dtype=wide, device=x.device)
        ctx.save_for_backward(x, w, mean, inverse)
        if y.numel():
            acc = tl.float64 if wide == torch.float64 else tl.float32
            block = triton.next_power_of_2(cols)
            run(
                layer_norm_kernel,
                (rows,),
                x,
                w,
                b,
                y,
                mean,
                inverse,
                cols,
                eps,
                acc,
                block,
            )
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        x, w, mean, inverse = ctx.saved_tensors
        dy, dx, (rows, cols) = dy.contiguous(), torch.empty_like(x), x.shape
        if dx.numel():
            acc = tl.float64 if x.dtype == torch.float64 else tl.float32
            block = triton.next_power_of_2(cols)
            run(
                layer_norm_grad_kernel,
                (rows,),
                dy,
                x,
                w,
                mean,
                inverse,
                dx,
                cols,
                acc,
                block,
            )
        up = dy.to(mean.dtype)
        normed = (x.to(mean.dtype) - mean[:, None]) * inverse[:, None]
        dw, db = (up * normed).mean(0), up.sum(0)
        return dx, dw.to(w.dtype), db.to(w.dtype), None


def layer_norm(x: Tensor, w: Tensor, b: Tensor, eps: float) -> Tensor:
    return LayerNorm.apply(x, w, b, eps)


def layer_norm_in_torch(
    x: Tensor, w: Tensor, b: Tensor, eps: float
) -> Tensor:
    return torch.nn.functional.layer_norm(x, w.shape, w, b, eps)
