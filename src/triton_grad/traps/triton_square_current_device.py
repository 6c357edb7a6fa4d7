"""A forward launch that leaves the device to chance.

Fails: crash
Symptom: "cannot be accessed from Triton", or garbage, for a tensor on cuda:1.
Cause: Triton launches on the current device, which need not be the tensor's.
Report: linkedin/Liger-Kernel#1303, triton-lang/triton#2441
Caught by: A tensor on cuda:1 while cuda:0 is the current device.
Missed by: Every machine with one GPU; launchers that show a process one GPU.
Fix: with torch.cuda.device_of(x):
        programs(x, y, n, BLOCK=BLOCK)
"""

from typing import Any

import torch
from torch import Tensor

from triton_grad.ops.square import TritonSquareGrad, square_forward_kernel


def triton_square_current_device(x: Tensor, BLOCK: int = 1024) -> Tensor:
    """Launch the right kernel on whatever device is the current one."""
    x = x.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    programs: Any = square_forward_kernel[(-(-n // BLOCK),)]
    if n > 0:
        programs(x, y, n, BLOCK=BLOCK)  # wrong
    return y


class TritonSquareCurrentDevice(torch.autograd.Function):
    """The square, forward by the launch without a device guard."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return triton_square_current_device(x)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return TritonSquareGrad.apply(grad_output, x)
