"""A custom op's node knows its tensor arguments, in order, and no more."""

from typing import Any

import torch
from torch import Tensor

from triton_grad.graph import autograd_nodes
from triton_grad.ops.gelu import TritonGELUGrad, gelu
from triton_grad.ops.square import square


class Tagged(torch.autograd.Function):
    """x times y, between arguments that are no tensors."""

    @staticmethod
    def forward(
        ctx: Any, tag: str, x: Tensor, none: None, y: Tensor
    ) -> Tensor:
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(
        ctx: Any, *grad_outputs: Tensor
    ) -> tuple[Tensor | None, ...]:
        x, y = ctx.saved_tensors
        return None, grad_outputs[0] * y, None, grad_outputs[0] * x


def test_what_is_no_tensor_has_no_entry(x: Tensor) -> None:
    a, b = gelu(x), square(x)
    y: Any = Tagged.apply("tag", a, None, b)
    assert [entry for entry, _ in y.grad_fn.next_functions] == [
        a.grad_fn,
        b.grad_fn,
    ]


def test_a_tensor_without_gradient_has_an_empty_one(
    x: Tensor, weights: Tensor
) -> None:
    y: Any = TritonGELUGrad.apply(weights, x)
    (first, _), (second, _) = y.grad_fn.next_functions
    assert first is None
    assert second.variable is x


def test_a_built_in_op_may_keep_an_empty_one_for_a_number(x: Tensor) -> None:
    z = gelu(x)
    scaled: Any = 3 * z
    powered: Any = z**3
    assert scaled.grad_fn.next_functions == ((z.grad_fn, 0), (None, 0))
    assert powered.grad_fn.next_functions == ((z.grad_fn, 0),)


def test_the_walk_keeps_the_number_of_the_argument(
    x: Tensor, weights: Tensor
) -> None:
    node = autograd_nodes(TritonGELUGrad.apply(weights, x))[0]
    assert [edge.argument for edge in node.edges] == [1]
