"""The backward kernel with neither loads nor store masked.

Fails: crash
Symptom: Heap corruption: a crash now, later, elsewhere or never.
Cause: cdiv(n, BLOCK) programs have lanes past n, and nothing stops them.
Report: ypapadop-amd/ggml#186
Caught by: Guard pages; on a GPU, compute-sanitizer.
Missed by: Comparing values: the n elements themselves are right; sizes that
    are whole blocks.
Fix: grad_out = upcast(tl.load(grad_out_ptr + offsets, mask=offsets < n))
    x = upcast(tl.load(x_ptr + offsets, mask=offsets < n))
    tl.store(grad_in_ptr + offsets, grad_in, mask=offsets < n)
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
def gelu_backward_kernel_no_mask(
    grad_out_ptr, x_ptr, grad_in_ptr, n, BLOCK: tl.constexpr
):
    """grad_in = grad_out (Φ(x) + x φ(x)), past the end as well."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    grad_out = upcast(tl.load(grad_out_ptr + offsets))  # wrong
    x = upcast(tl.load(x_ptr + offsets))  # wrong
    grad_in = grad_out * (normal_cdf(x) + x * normal_pdf(x))
    tl.store(grad_in_ptr + offsets, grad_in)  # wrong


def triton_gelu_backward_no_mask(
    grad_output: Tensor, x: Tensor, BLOCK: int = 1024
) -> Tensor:
    """Launch the kernel without masks."""
    return launch_elementwise(
        "gelu_backward_no_mask",
        gelu_backward_kernel_no_mask,
        grad_output,
        x,
        BLOCK=BLOCK,
    )


class TritonGELUNoMask(torch.autograd.Function):
    """GELU, backward by the kernel without masks."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return triton_gelu_forward(x)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        refuse_second_order("gelu")
        (x,) = ctx.saved_tensors
        return triton_gelu_backward_no_mask(grad_output, x)
