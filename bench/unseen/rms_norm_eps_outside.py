"""RMS norm. Wrong: eps is added outside the root."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def rms_norm_kernel(
    x_ptr, w_ptr, y_ptr, cols, eps, ACC: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64) * cols
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row + i, mask=i < cols, other=0.0).to(ACC)
    w = tl.load(w_ptr + i, mask=i < cols, other=0.0).to(ACC)
    rms = tl.sqrt(tl.sum(x * x) / cols) + eps
    tl.store(y_ptr + row + i, x / rms * w, mask=i < cols)


def run(kernel: Any, grid: Any, *arguments: Any) -> None:
    kernel[grid](*arguments)


class RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor, eps: float) -> Tensor:
        ctx.save_for_backward(x, w)
        ctx.eps = eps
        x = x.contiguous()
        y, (rows, cols) = torch.empty_like(x), x.shape
        if not y.numel():
            return y
        acc = tl.float64 if x.dtype == torch.float64 else tl.float32
        block = triton.next_power_of_2(cols)
        run(
            rms_norm_kernel,
            (rows,),
            x,
            w.contiguous(),
            y,
            cols,
            eps,
            acc,
            block,
        )
        return y

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor, None]:
        x, w = ctx.saved_tensors
        wide = torch.promote_types(x.dtype, torch.float32)
        up, v = dy.to(wide), x.to(wide)
        r = (v.square().mean(-1, keepdim=True) + ctx.eps).rsqrt()
        dw = (up * v * r).sum(0)
        g = up * w.to(wide) * r
        dx = g - v * r * r * (g * v).mean(-1, keepdim=True)
        return dx.to(x.dtype), dw.to(w.dtype), None


def rms_norm(x: Tensor, w: Tensor, eps: float) -> Tensor:
    return RMSNorm.apply(x, w, eps)


def rms_norm_in_torch(x: Tensor, w: Tensor, eps: float) -> Tensor:
    return torch.nn.functional.rms_norm(x, w.shape, w, eps)
