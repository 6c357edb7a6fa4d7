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
        forward: The forward kernel's op.
        backward: The backward kernel's op: grad_output, then x.
        function: The autograd.Function behind `apply`.
        grad_function: The autograd.Function around `backward`.
        oracle: The forward's truth in float64.
        backward_oracle: The backward's truth in float64.
        reference: PyTorch's own op.
    """

    name: str
    apply: Callable[[Tensor], Tensor]
    forward: ElementwiseOp
    backward: ElementwiseOp
    function: type[ElementwiseFunction]
    grad_function: type[ElementwiseGrad]
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
        oracle=square_oracle,
        backward_oracle=square_backward_oracle,
        reference=torch.square,
    ),
)
