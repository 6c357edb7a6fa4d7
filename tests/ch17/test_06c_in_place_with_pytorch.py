"""PyTorch refuses to write into a repeated element, not a dense one."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from triton_grad.ops.square import square
from triton_grad.oracle import square_backward_oracle


class TripleInPlace(torch.autograd.Function):
    """3x, whose backward works in the memory of grad_output."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return 3 * x

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> Tensor:
        return grad_outputs[0].mul_(3)


def test_the_gradient_of_sum_is_refused(x: Tensor) -> None:
    with pytest.raises(RuntimeError, match="single memory location"):
        TripleInPlace.apply(x).sum().backward()


def test_a_dense_gradient_is_not_and_the_sibling_pays(
    x: Tensor,
    weights: Tensor,
    assert_true: Callable[[Tensor | None, Tensor], None],
) -> None:
    other = x.detach().requires_grad_()
    sibling = square(other)
    joined = TripleInPlace.apply(x) + sibling
    joined.backward(weights.clone())
    truth = square_backward_oracle(weights, x.detach())
    assert_true(other.grad, 3 * truth)
