"""The forward kernel that makes a NaN zero.

Fails: wrong number
Symptom: A network that has diverged looks sound: torch.relu keeps the NaN.
Cause: NaN > 0 is false, so that the other branch is taken. On a GPU
    tl.maximum(x, 0.0) does the same, unless it is told to propagate NaN.
Report: triton-lang/triton#7349 (tl.max), pytorch/ao#4271 (tl.clamp)
Caught by: An input with a NaN in it.
Missed by: Every input without.
Fix: y = tl.where(x <= 0.0, 0.0, x)
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from triton_grad.launch import launch_elementwise
from triton_grad.precision import upcast


@triton.jit
def relu_forward_kernel_drops_nan(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """y = max(x, 0), where NaN counts as less than 0."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = upcast(tl.load(x_ptr + offsets, mask=mask))
    y = tl.where(x > 0.0, x, 0.0)  # wrong
    tl.store(y_ptr + offsets, y, mask=mask)


class TritonReLUDropsNaN(torch.autograd.Function):
    """ReLU, forward by the kernel that drops NaN."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        kernel = relu_forward_kernel_drops_nan
        return launch_elementwise("relu", kernel, x, BLOCK=1024)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return torch.where(x <= 0.0, 0.0, grad_output)
