"""A backward that saves an allocation by writing into grad_output.

Fails: wrong number
Symptom: Right for itself; a sibling branch is handed this one's result.
Cause: The engine gives every branch of a sum the same gradient tensor.
Report: NVIDIA/apex#1430 (a CUDA kernel)
Caught by: grad_output before and after, or a sibling branch's gradient.
Missed by: sum().backward(), whose gradient contiguous() copies; gradcheck in
    its default mode; a sibling that was made after the op.
Fix: grad = grad_output.clone(memory_format=torch.contiguous_format)
"""

from typing import Any

import torch
from torch import Tensor

from triton_grad.launch import launch_programs
from triton_grad.ops.gelu_erf import gelu_backward_kernel, triton_gelu_forward


class TritonGELUOverwritesGradOutput(torch.autograd.Function):
    """GELU whose backward reuses the memory of grad_output."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        x = x.contiguous()
        ctx.save_for_backward(x)
        return triton_gelu_forward(x)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        grad = grad_output.contiguous()  # wrong
        launch_programs(gelu_backward_kernel, grad, x, grad, BLOCK=1024)
        return grad
