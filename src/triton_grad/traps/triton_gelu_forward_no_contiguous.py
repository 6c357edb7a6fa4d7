"""A forward launch that takes x as it lies in memory.

Fails: wrong number
Symptom: Right for a transposed x, silently wrong for x[:, ::2].
Cause: The kernel walks memory in order; a slice has gaps there.
Report: fla-org/flash-linear-attention#759
Caught by: An x with gaps in memory.
Missed by: Contiguous and transposed inputs.
Fix: x = torch.empty_like(y).copy_(x)
    launch_programs(gelu_forward_kernel, x, y, BLOCK=BLOCK)
"""

from typing import Any

import torch
from torch import Tensor

from triton_grad.launch import launch_programs
from triton_grad.ops.gelu import TritonGELUGrad
from triton_grad.ops.gelu_erf import gelu_forward_kernel


def triton_gelu_forward_no_contiguous(x: Tensor, BLOCK: int = 1024) -> Tensor:
    """Launch the right kernel on x as it is."""
    # empty_like keeps the strides of a transposed x, so that memory order
    # is the same on both sides; a slice has gaps, and its result has none.
    y = torch.empty_like(x)
    launch_programs(gelu_forward_kernel, x, y, BLOCK=BLOCK)  # wrong
    return y


class TritonGELUForwardNoContiguous(torch.autograd.Function):
    """GELU, forward by the launch that takes x as it is."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return triton_gelu_forward_no_contiguous(x)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return TritonGELUGrad.apply(grad_output, x)
