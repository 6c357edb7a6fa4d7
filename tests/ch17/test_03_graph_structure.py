"""Two custom ops in a row are connected by one object."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from triton_grad.ops.gelu import gelu
from triton_grad.ops.square import square
from triton_grad.oracle import (
    gelu_backward_oracle,
    gelu_oracle,
    square_backward_oracle,
)


def test_each_node_points_to_the_one_before(x: Tensor) -> None:
    z = gelu(x)
    y = square(z)
    node: Any = y.grad_fn
    assert node.next_functions == ((z.grad_fn, 0),)
    ((leaf, _),) = node.next_functions[0][0].next_functions
    assert leaf.variable is x
    assert leaf.next_functions == ()


def test_square_runs_before_gelu(
    x: Tensor, backward_calls: list[tuple[str, Tensor]]
) -> None:
    square(gelu(x)).sum().backward()
    assert [op for op, _ in backward_calls] == ["square", "gelu"]


def test_the_other_way_round(
    x: Tensor, backward_calls: list[tuple[str, Tensor]]
) -> None:
    gelu(square(x)).sum().backward()
    assert [op for op, _ in backward_calls] == ["gelu", "square"]


def test_the_two_kernels_compose(
    x: Tensor,
    weights: Tensor,
    assert_true: Callable[[Tensor | None, Tensor], None],
) -> None:
    square(gelu(x)).backward(weights)
    leaf = x.detach()
    upstream = square_backward_oracle(weights, gelu_oracle(leaf))
    assert_true(x.grad, gelu_backward_oracle(upstream, leaf))
