"""A Function that keeps its input as an attribute of ctx.

Fails: wrong number
Symptom: x.mul_(2) after the call changes the gradient, without an error.
Cause: Only save_for_backward compares version counters when it is unpacked.
Report: asappresearch/sru#171, RobinBruegger/RevTorch#1
Caught by: Changing x in place between forward and backward.
Missed by: Every test that leaves x alone, gradcheck included.
Fix: ctx.save_for_backward(x)
    (x,) = ctx.saved_tensors
"""

from typing import Any

import torch
from torch import Tensor

from triton_grad.ops.gelu import TritonGELUGrad, gelu_forward_op


class TritonGELUSavesOnCtx(torch.autograd.Function):
    """GELU that does not notice what becomes of its input."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.x = x  # wrong
        return gelu_forward_op(x)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        x = ctx.x  # wrong
        return TritonGELUGrad.apply(grad_output, x)
