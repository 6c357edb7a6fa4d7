"""The forward kernel that computes in the dtype it loads.

Fails: refuses
Symptom: Expected dtype ['fp32', 'fp64'] but got fp16.
Cause: tl.erf has no 16-bit version, and no upcast stands before it.
Report: triton-lang/triton#1468 (tl.exp)
Caught by: A test in float16 and in bfloat16.
Missed by: Every test in float32 or float64.
Fix: x = tl.load(x_ptr + offsets, mask=mask)
    x = x.to(tl.float64 if x.dtype == tl.float64 else tl.float32)
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from triton_grad.launch import launch_programs
from triton_grad.ops.gelu import TritonGELUGrad
from triton_grad.ops.gelu_erf import INV_SQRT_2


@triton.jit
def gelu_forward_kernel_no_upcast(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """y = x Φ(x), in whatever dtype x is stored in."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)  # wrong
    y = x * 0.5 * (1.0 + tl.erf(x * INV_SQRT_2))
    tl.store(y_ptr + offsets, y, mask=mask)


def triton_gelu_forward_no_upcast(x: Tensor, BLOCK: int = 1024) -> Tensor:
    """Launch the kernel without upcast, on a contiguous x as it is."""
    y = torch.empty_like(x)
    launch_programs(gelu_forward_kernel_no_upcast, x, y, BLOCK=BLOCK)
    return y


class TritonGELUNoUpcast(torch.autograd.Function):
    """GELU, forward by the kernel without upcast."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return triton_gelu_forward_no_upcast(x.contiguous())

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return TritonGELUGrad.apply(grad_output, x)
