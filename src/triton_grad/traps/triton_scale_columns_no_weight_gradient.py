"""A Function of two tensors whose backward forgets the second.

Fails: wrong number
Symptom: weight.grad stays None: the layer never learns its weight.
Cause: None means "this input needs no gradient", and nobody asks twice.
Report: meta-pytorch/torchrec#4602
Caught by: The gradient of every input, compared.
Missed by: The gradient of the first input alone; watching the loss fall.
Fix: products = grad_output * ctx.saved_tensors[0]
    return grad_output * weight, products.sum(0)
"""

from typing import Any

import torch
from torch import Tensor

from triton_grad.traps.triton_scale_columns_backward_x_strides import (
    triton_scale_columns_forward,
)


class TritonScaleColumnsNoWeightGradient(torch.autograd.Function):
    """Each column of x times its weight, differentiable by x alone."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return triton_scale_columns_forward(x, weight)

    @staticmethod
    def backward(
        ctx: Any, grad_output: Tensor
    ) -> tuple[Tensor | None, Tensor | None]:
        _, weight = ctx.saved_tensors
        return grad_output * weight, None  # wrong
