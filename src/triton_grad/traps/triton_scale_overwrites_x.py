"""A forward that saves an allocation by scaling its input in place.

Fails: wrong number
Symptom: The result is right; whoever reads x afterwards reads the result.
Cause: y is x. Where x is not contiguous it is a copy, so that only some
    callers are hit.
Report: unslothai/unsloth#5001, linkedin/Liger-Kernel#343
Caught by: x before and after.
Missed by: Comparing the result with a truth that was computed before.
Fix: y = torch.empty_like(x)
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from triton_grad.precision import upcast
from triton_grad.traps._grid import launch_grid


@triton.jit
def scale_forward_kernel(x_ptr, y_ptr, factor, n, BLOCK: tl.constexpr):
    """y = factor x, BLOCK elements a program."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = upcast(tl.load(x_ptr + offsets, mask=mask))
    tl.store(y_ptr + offsets, x * factor, mask=mask)


class TritonScaleOverwritesX(torch.autograd.Function):
    """x times a number."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        x = x.contiguous()
        y = x  # wrong
        n = x.numel()
        grid = (-(-n // 1024),)
        launch_grid(scale_forward_kernel, grid, x, y, factor, n, BLOCK=1024)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None]:
        return grad_output * ctx.factor, None
