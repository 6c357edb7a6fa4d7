"""The layer norm kernel whose padding lanes count in the variance.

Fails: wrong number
Symptom: The result is too small, unless a row's length is a power of two.
Cause: A lane past the row is 0, and -mean once the mean is subtracted.
Report: unslothai/unsloth#1867, linkedin/Liger-Kernel#518
Caught by: A length that is no power of two.
Missed by: Lengths that are powers of two; a mean that is nearly 0.
Fix: centred = tl.where(mask, x - mean, 0.0)
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from triton_grad.precision import compute_dtype, upcast
from triton_grad.traps._grid import block_of, launch_grid


@triton.jit
def layer_norm_forward_kernel_padding_in_variance(
    x_ptr, y_ptr, cols, eps, BLOCK: tl.constexpr
):
    """A row of y = (x - mean) / sqrt(variance + eps) a program."""
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    mask = col < cols
    x = upcast(tl.load(x_ptr + row * cols + col, mask=mask, other=0.0))
    mean = tl.sum(x, axis=0) / cols
    centred = x - mean  # wrong
    variance = tl.sum(centred * centred, axis=0) / cols
    y = centred / tl.sqrt(variance + eps)
    tl.store(y_ptr + row * cols + col, y, mask=mask)


def layer_norm_backward(grad_output: Tensor, x: Tensor, eps: float) -> Tensor:
    """In PyTorch ops, which can be differentiated again."""
    wide = compute_dtype(x.dtype)
    grad, x_wide = grad_output.to(wide), x.to(wide)
    centred = x_wide - x_wide.mean(-1, keepdim=True)
    rstd = (centred.square().mean(-1, keepdim=True) + eps).rsqrt()
    normed = centred * rstd
    along_mean = grad.mean(-1, keepdim=True)
    along_rstd = (grad * normed).mean(-1, keepdim=True)
    return (rstd * (grad - along_mean - normed * along_rstd)).to(x.dtype)


class TritonLayerNormPaddingInVariance(torch.autograd.Function):
    """Layer norm without weights, forward by the wrong kernel."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, eps: float) -> Tensor:
        ctx.save_for_backward(x)
        ctx.eps = eps
        x = x.contiguous()
        rows, cols = x.shape
        y = torch.empty_like(x)
        launch_grid(
            layer_norm_forward_kernel_padding_in_variance,
            (rows,),
            x,
            y,
            cols,
            eps,
            BLOCK=block_of(cols),
        )
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None]:
        (x,) = ctx.saved_tensors
        return layer_norm_backward(grad_output, x, ctx.eps), None
