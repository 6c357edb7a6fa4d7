"""Every op of the library, beside what it is measured by."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from triton_grad.elementwise import (
    ElementwiseFunction,
    ElementwiseGrad,
    ElementwiseOp,
)
from triton_grad.ops.gelu import (
    TritonGELU,
    TritonGELUGrad,
    gelu,
    gelu_backward_op,
    gelu_forward_op,
)
from triton_grad.ops.square import (
    TritonSquare,
    TritonSquareGrad,
    square,
    square_backward_op,
    square_forward_op,
)
from triton_grad.oracle import (
    gelu_backward_oracle,
    gelu_oracle,
    square_backward_oracle,
    square_oracle,
)


@dataclass(frozen=True)
class OpCase:
    """An op and its truth.

    Attributes:
        name: The public function's name.
        apply: The public function, differentiable.
        forward: The launch of the forward kernel.
        backward: The launch of the backward kernel: grad_output, then x.
        function: The autograd.Function behind `apply`.
        grad_function: The autograd.Function around `backward`.
        forward_op: The forward as PyTorch's dispatcher sees it.
        backward_op: The backward as PyTorch's dispatcher sees it.
        oracle: The forward's truth in float64.
        backward_oracle: The backward's truth in float64.
        reference: PyTorch's own op.
    """

    name: str
    apply: Callable[[Tensor], Tensor]
    forward: Callable[..., Tensor]
    backward: Callable[..., Tensor]
    function: type[ElementwiseFunction]
    grad_function: type[ElementwiseGrad]
    forward_op: ElementwiseOp
    backward_op: ElementwiseOp
    oracle: Callable[[Tensor], Tensor]
    backward_oracle: Callable[[Tensor, Tensor], Tensor]
    reference: Callable[[Tensor], Tensor]


OPS = (
    OpCase(
        name="gelu",
        apply=gelu,
        forward=gelu_forward_op,
        backward=gelu_backward_op,
        function=TritonGELU,
        grad_function=TritonGELUGrad,
        forward_op=gelu_forward_op,
        backward_op=gelu_backward_op,
        oracle=gelu_oracle,
        backward_oracle=gelu_backward_oracle,
        reference=torch.nn.functional.gelu,
    ),
    OpCase(
        name="square",
        apply=square,
        forward=square_forward_op,
        backward=square_backward_op,
        function=TritonSquare,
        grad_function=TritonSquareGrad,
        forward_op=square_forward_op,
        backward_op=square_backward_op,
        oracle=square_oracle,
        backward_oracle=square_backward_oracle,
        reference=torch.square,
    ),
)
