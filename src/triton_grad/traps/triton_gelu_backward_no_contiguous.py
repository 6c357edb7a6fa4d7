"""A backward launch that takes both tensors as they lie in memory.

Fails: wrong number
Symptom: Silently wrong where the layouts differ; reads past sum()'s gradient.
Cause: One offset stands for two elements where the strides differ.
Report: Dao-AILab/flash-attention#355, ROCm/TransformerEngine#623
Caught by: Every layout of x beside every layout of grad_output.
Missed by: Contiguous tensors alone, and gradcheck, which feeds no others.
Fix: torch.empty_like(grad_input).copy_(grad_output),
    torch.empty_like(grad_input).copy_(x),
"""

from typing import Any

import torch
from torch import Tensor

from triton_grad.launch import launch_programs
from triton_grad.ops.gelu_erf import gelu_backward_kernel, triton_gelu_forward
from triton_grad.traps._refusal import refuse_second_order


def triton_gelu_backward_no_contiguous(
    grad_output: Tensor, x: Tensor, BLOCK: int = 1024
) -> Tensor:
    """Launch the right kernel on both tensors as they are."""
    grad_input = torch.empty_like(x)
    launch_programs(
        gelu_backward_kernel,
        grad_output,  # wrong
        x,  # wrong
        grad_input,
        BLOCK=BLOCK,
    )
    return grad_input


class TritonGELUNoContiguous(torch.autograd.Function):
    """GELU whose launches never ask how a tensor lies in memory."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return triton_gelu_forward(x)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        refuse_second_order("gelu")
        (x,) = ctx.saved_tensors
        return triton_gelu_backward_no_contiguous(grad_output, x)
