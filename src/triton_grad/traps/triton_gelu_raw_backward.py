"""A backward that launches its kernel bare, outside the graph.

Fails: wrong number
Symptom: Under create_graph=True a gradient penalty is dropped silently.
Cause: A kernel launch records nothing that could be differentiated again.
Report: tensorflow/tensorflow#7403 (no Triton kernel)
Caught by: gradgradcheck, or requires_grad of the first gradient.
Missed by: Every test of the first gradient, gradcheck included.
Fix: return gelu_backward_op.library_op(grad_output, x)

once_differentiable on such a backward raises in some of these cases, not in
all: where the first gradient is multiplied by something that needs a gradient
too, that factor alone is differentiated, without an error.
"""

from typing import Any

import torch
from torch import Tensor

from triton_grad.ops.gelu import gelu_backward_op, gelu_forward_op


class TritonGELURawBackward(torch.autograd.Function):
    """GELU whose gradient has no gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return gelu_forward_op(x)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return gelu_backward_op(grad_output, x)  # wrong
