"""The backward kernel that stores the local derivative alone.

Fails: wrong number
Symptom: Right after sum().backward(), off by a factor after another loss.
Cause: The formula f'(x) stands where grad_output f'(x) has to.
Report: NVIDIA/TransformerEngine#2139
Caught by: A random grad_output that is not x.
Missed by: sum().backward(), which hands down ones.
Fix: grad_out = upcast(tl.load(grad_out_ptr + offsets, mask=mask))
    grad_in = grad_out * (normal_cdf(x) + x * normal_pdf(x))
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from triton_grad.launch import launch_elementwise
from triton_grad.ops.gelu_erf import (
    normal_cdf,
    normal_pdf,
    triton_gelu_forward,
)
from triton_grad.precision import upcast
from triton_grad.traps._refusal import refuse_second_order


@triton.jit
def gelu_backward_kernel_no_chain_rule(
    grad_out_ptr, x_ptr, grad_in_ptr, n, BLOCK: tl.constexpr
):
    """grad_in = Φ(x) + x φ(x); grad_out_ptr is never loaded."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = upcast(tl.load(x_ptr + offsets, mask=mask))
    grad_in = normal_cdf(x) + x * normal_pdf(x)  # wrong
    tl.store(grad_in_ptr + offsets, grad_in, mask=mask)


def triton_gelu_backward_no_chain_rule(
    grad_output: Tensor, x: Tensor, BLOCK: int = 1024
) -> Tensor:
    """Launch the kernel without the chain rule."""
    return launch_elementwise(
        "gelu_backward_no_chain_rule",
        gelu_backward_kernel_no_chain_rule,
        grad_output,
        x,
        BLOCK=BLOCK,
    )


class TritonGELUNoChainRule(torch.autograd.Function):
    """GELU whose backward ignores what the rest of the network hands down."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return triton_gelu_forward(x)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        refuse_second_order("gelu")
        (x,) = ctx.saved_tensors
        return triton_gelu_backward_no_chain_rule(grad_output, x)
