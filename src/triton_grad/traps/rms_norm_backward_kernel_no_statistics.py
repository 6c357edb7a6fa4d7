"""The RMS norm's backward kernel that takes the norm for a constant.

Fails: wrong number
Symptom: Training is a little worse; the gradient has its usual size.
Cause: x is in the root mean square too, and its part of dx is missing.
Report: ooples/AiDotNet#695 (a CPU kernel)
Caught by: Any comparison of the gradient.
Missed by: Comparing values alone.
Fix: normed = x * rstd
    along = tl.sum(grad * normed, axis=0) / cols
    grad_in = rstd * (grad - normed * along)
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from triton_grad.precision import compute_dtype, upcast
from triton_grad.traps._grid import block_of, launch_grid
from triton_grad.traps._refusal import refuse_second_order


@triton.jit
def rms_norm_forward_kernel(
    x_ptr, weight_ptr, y_ptr, cols, eps, BLOCK: tl.constexpr
):
    """A row of y = weight x / sqrt(mean(x²) + eps) a program."""
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    mask = col < cols
    x = upcast(tl.load(x_ptr + row * cols + col, mask=mask, other=0.0))
    weight = upcast(tl.load(weight_ptr + col, mask=mask, other=0.0))
    rstd = 1.0 / tl.sqrt(tl.sum(x * x, axis=0) / cols + eps)
    tl.store(y_ptr + row * cols + col, weight * x * rstd, mask=mask)


@triton.jit
def rms_norm_backward_kernel_no_statistics(
    grad_out_ptr,
    x_ptr,
    weight_ptr,
    grad_in_ptr,
    cols,
    eps,
    BLOCK: tl.constexpr,
):
    """A row of grad_in = weight grad_out / sqrt(mean(x²) + eps)."""
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    mask = col < cols
    x = upcast(tl.load(x_ptr + row * cols + col, mask=mask, other=0.0))
    weight = upcast(tl.load(weight_ptr + col, mask=mask, other=0.0))
    out_ptrs = grad_out_ptr + row * cols + col
    grad = upcast(tl.load(out_ptrs, mask=mask, other=0.0)) * weight
    rstd = 1.0 / tl.sqrt(tl.sum(x * x, axis=0) / cols + eps)
    grad_in = rstd * grad  # wrong
    tl.store(grad_in_ptr + row * cols + col, grad_in, mask=mask)


class TritonRMSNormNoStatistics(torch.autograd.Function):
    """RMS norm with weights, backward by the wrong kernel."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, eps: float) -> Tensor:
        x, weight = x.contiguous(), weight.contiguous()
        ctx.save_for_backward(x, weight)
        ctx.eps = eps
        rows, cols = x.shape
        y = torch.empty_like(x)
        launch_grid(
            rms_norm_forward_kernel,
            (rows,),
            x,
            weight,
            y,
            cols,
            eps,
            BLOCK=block_of(cols),
        )
        return y

    @staticmethod
    def backward(
        ctx: Any, grad_output: Tensor
    ) -> tuple[Tensor, Tensor, None]:
        refuse_second_order("rms_norm")
        x, weight = ctx.saved_tensors
        rows, cols = x.shape
        grad_input = torch.empty_like(x)
        launch_grid(
            rms_norm_backward_kernel_no_statistics,
            (rows,),
            grad_output.contiguous(),
            x,
            weight,
            grad_input,
            cols,
            ctx.eps,
            BLOCK=block_of(cols),
        )
        wide = compute_dtype(x.dtype)
        rms = (x.to(wide).square().mean(-1, keepdim=True) + ctx.eps).sqrt()
        products = grad_output.to(wide) * x.to(wide) / rms
        return grad_input, products.sum(0).to(weight.dtype), None
