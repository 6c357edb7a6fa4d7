"""A forward launch that keeps one buffer for all its results.

Fails: wrong number
Symptom: The first result changes when the op is called a second time.
Cause: What is returned is not the caller's: the next call writes there too.
Report: ROCm/torch_migraphx#247
Caught by: Two calls, and a look at the first result after the second.
Missed by: Looking at each result before the next call.
Fix: y = torch.empty_like(x)
"""

from typing import Any

import torch
from torch import Tensor

from triton_grad.ops.square import TritonSquareGrad, square_forward_kernel
from triton_grad.traps._grid import launch_grid

BUFFERS: dict[tuple[torch.dtype, torch.device], Tensor] = {}


def buffer_like(x: Tensor) -> Tensor:
    """As much of the buffer as x needs; it grows and is never given away."""
    key = (x.dtype, x.device)
    if key not in BUFFERS or BUFFERS[key].numel() < x.numel():
        BUFFERS[key] = torch.empty(x.numel(), dtype=x.dtype, device=x.device)
    return BUFFERS[key][: x.numel()].view(x.shape)


def triton_square_shared_result(x: Tensor, BLOCK: int = 1024) -> Tensor:
    """Launch the right kernel into a buffer that others hold too."""
    x = x.contiguous()
    y = buffer_like(x)  # wrong
    n = x.numel()
    grid = (-(-n // BLOCK),)
    launch_grid(square_forward_kernel, grid, x, y, n, BLOCK=BLOCK)
    return y


class TritonSquareSharedResult(torch.autograd.Function):
    """The square, forward by the launch with one buffer."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return triton_square_shared_result(x)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return TritonSquareGrad.apply(grad_output, x)
