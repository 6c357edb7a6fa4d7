"""A backward launch that puts grad_output in order, and x not.

Fails: wrong number
Symptom: For a transposed x forward is right and backward silently wrong.
Cause: The kernel is given two tensors in different orders.
Report: ByteDance-Seed/VeOmni#958
Caught by: A transposed x with a random grad_output.
Missed by: Contiguous inputs, sum().backward() and gradcheck on them.
Fix: x.contiguous(),
"""

from typing import Any

import torch
from torch import Tensor

from triton_grad.ops.gelu_erf import triton_gelu_forward
from triton_grad.traps._refusal import refuse_second_order
from triton_grad.traps.triton_gelu_backward_no_contiguous import (
    triton_gelu_backward_no_contiguous,
)


def triton_gelu_backward_contiguous_grad_only(
    grad_output: Tensor, x: Tensor, BLOCK: int = 1024
) -> Tensor:
    """Launch the right kernel on an ordered grad_output and x as it is."""
    return triton_gelu_backward_no_contiguous(
        grad_output.contiguous(),
        x,  # wrong
        BLOCK,
    )


class TritonGELUContiguousGradOnly(torch.autograd.Function):
    """GELU that lays out one of its two backward inputs."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return triton_gelu_forward(x)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        refuse_second_order("gelu")
        (x,) = ctx.saved_tensors
        return triton_gelu_backward_contiguous_grad_only(grad_output, x)
