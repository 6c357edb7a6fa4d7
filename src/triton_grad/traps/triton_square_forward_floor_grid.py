"""A forward launch that rounds the number of programs down.

Fails: wrong number
Symptom: The last elements are whatever lay in memory; small tensors wholly.
Cause: n // BLOCK leaves out the last block, unless it is a whole one.
Report: CMU-SAFARI/SneakySnake#2 (a CUDA kernel)
Caught by: Any size that is no multiple of BLOCK.
Missed by: Sizes that are whole blocks.
Fix: programs = -(-x.numel() // BLOCK)
"""

from typing import Any

import torch
from torch import Tensor

from triton_grad.ops.square import TritonSquareGrad, square_forward_kernel
from triton_grad.traps._grid import launch_grid


def triton_square_forward_floor_grid(x: Tensor, BLOCK: int = 1024) -> Tensor:
    """Launch the right kernel on too few programs."""
    x = x.contiguous()
    y = torch.empty_like(x)
    programs = x.numel() // BLOCK  # wrong
    launch_grid(
        square_forward_kernel, (programs,), x, y, x.numel(), BLOCK=BLOCK
    )
    return y


class TritonSquareFloorGrid(torch.autograd.Function):
    """The square, forward by the launch that rounds down."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return triton_square_forward_floor_grid(x)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return TritonSquareGrad.apply(grad_output, x)
