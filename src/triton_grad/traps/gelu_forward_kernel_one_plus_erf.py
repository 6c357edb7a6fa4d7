"""The forward kernel that makes the tail of Φ from 1 + erf.

Fails: wrong number
Symptom: In float32 half of the digits are gone at x = -4, all at x = -6.
Cause: erf is nearly -1 there: the sum cancels, and what is left is rounding.
Report: pytorch/pytorch#187806
Caught by: A relative tolerance at x = -5, against erfc or float64.
Missed by: An absolute tolerance; inputs between -3 and 3.
Fix: cdf = normal_cdf_from(normal_tail(z, gaussian(z)), z)
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from triton_grad.launch import launch_elementwise
from triton_grad.normal import (
    bounded_above,
    bounded_below,
    gaussian,
    normal_cdf_from,
    normal_tail,
)
from triton_grad.ops.gelu_erf import INV_SQRT_2, INV_SQRT_2PI
from triton_grad.precision import upcast
from triton_grad.traps._refusal import refuse_second_order


@triton.jit
def gelu_forward_kernel_one_plus_erf(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """y = x Φ(x), with a Φ that has no lower tail."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = bounded_below(upcast(tl.load(x_ptr + offsets, mask=mask)))
    z = bounded_above(x)
    cdf = 0.5 * (1.0 + tl.erf(z * INV_SQRT_2))  # wrong
    tl.store(y_ptr + offsets, x * cdf, mask=mask)


@triton.jit
def gelu_backward_kernel_beside_one_plus_erf(
    grad_out_ptr, x_ptr, grad_in_ptr, n, BLOCK: tl.constexpr
):
    """grad_in = grad_out (Φ(x) + x φ(x)), rightly."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    grad_out = upcast(tl.load(grad_out_ptr + offsets, mask=mask))
    x = bounded_below(upcast(tl.load(x_ptr + offsets, mask=mask)))
    x = bounded_above(x)
    bell = gaussian(x)
    cdf = normal_cdf_from(normal_tail(x, bell), x)
    grad_in = grad_out * (cdf + x * (bell * INV_SQRT_2PI))
    tl.store(grad_in_ptr + offsets, grad_in, mask=mask)


class TritonGELUOnePlusErf(torch.autograd.Function):
    """GELU of which the backward alone has been mended."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        kernel = gelu_forward_kernel_one_plus_erf
        return launch_elementwise("gelu", kernel, x, BLOCK=1024)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        refuse_second_order("gelu")
        (x,) = ctx.saved_tensors
        kernel = gelu_backward_kernel_beside_one_plus_erf
        return launch_elementwise(
            "gelu_backward", kernel, grad_output, x, BLOCK=1024
        )
