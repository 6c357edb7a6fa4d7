"""A backward that saves an allocation by writing into what forward saved.

Fails: wrong number
Symptom: The first backward is right, the second is not, and nothing says so.
Cause: The kernel's store does not move the version counter of the tensor.
Report: triton-lang/triton#4004, unslothai/unsloth#5002
Caught by: backward twice, with retain_graph=True.
Missed by: One backward for each forward.
Fix: grad_input = torch.empty_like(slope)
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from triton_grad.precision import upcast
from triton_grad.traps._grid import launch_grid
from triton_grad.traps._refusal import refuse_second_order


@triton.jit
def square_slope_kernel(x_ptr, y_ptr, slope_ptr, n, BLOCK: tl.constexpr):
    """y = x² and its slope 2x, BLOCK elements a program."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = upcast(tl.load(x_ptr + offsets, mask=mask))
    tl.store(y_ptr + offsets, x * x, mask=mask)
    tl.store(slope_ptr + offsets, 2.0 * x, mask=mask)


@triton.jit
def chain_rule_kernel(
    grad_out_ptr, slope_ptr, grad_in_ptr, n, BLOCK: tl.constexpr
):
    """grad_in = grad_out slope, BLOCK elements a program."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    grad_out = upcast(tl.load(grad_out_ptr + offsets, mask=mask))
    slope = upcast(tl.load(slope_ptr + offsets, mask=mask))
    tl.store(grad_in_ptr + offsets, grad_out * slope, mask=mask)


class TritonSquareWritesIntoSaved(torch.autograd.Function):
    """The square, whose slope is computed by the way in forward."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        x = x.contiguous()
        y, slope = torch.empty_like(x), torch.empty_like(x)
        n = x.numel()
        grid = (-(-n // 1024),)
        launch_grid(square_slope_kernel, grid, x, y, slope, n, BLOCK=1024)
        ctx.save_for_backward(slope)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        refuse_second_order("square")
        (slope,) = ctx.saved_tensors
        grad_input = slope  # wrong
        n = slope.numel()
        launch_grid(
            chain_rule_kernel,
            (-(-n // 1024),),
            grad_output.contiguous(),
            slope,
            grad_input,
            n,
            BLOCK=1024,
        )
        return grad_input
