"""The forward kernel that stores what is positive and nothing else.

Fails: wrong number
Symptom: Where x is not positive the result is what lay in memory: often 0.
Cause: torch.empty is not zero, and those elements are never stored.
Report: pytorch/FBGEMM#5754 (a CUDA kernel)
Caught by: Memory that is filled with NaN before the call.
Missed by: Positive inputs, such as torch.rand's; memory that happens to be 0.
Fix: tl.store(y_ptr + offsets, tl.where(x <= 0.0, 0.0, x), mask=mask)
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from triton_grad.launch import launch_elementwise
from triton_grad.precision import upcast


@triton.jit
def relu_forward_kernel_stores_positive(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """y = x where x is positive; elsewhere y is left as it is."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = upcast(tl.load(x_ptr + offsets, mask=mask))
    tl.store(y_ptr + offsets, x, mask=mask & (x > 0.0))  # wrong


class TritonReLUStoresPositive(torch.autograd.Function):
    """ReLU, forward by the kernel that leaves elements unwritten."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        kernel = relu_forward_kernel_stores_positive
        return launch_elementwise("relu", kernel, x, BLOCK=1024)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return torch.where(x <= 0.0, 0.0, grad_output)
