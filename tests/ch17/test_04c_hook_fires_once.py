"""A hook on a tensor with two consumers gets their sum, in one call."""

from collections.abc import Callable

import torch
from torch import Tensor

from triton_grad.ops.gelu import gelu
from triton_grad.ops.square import square
from triton_grad.oracle import gelu_backward_oracle, square_backward_oracle


def test_on_a_leaf(
    x: Tensor,
    weights: Tensor,
    assert_true: Callable[[Tensor | None, Tensor], None],
) -> None:
    seen: list[Tensor] = []
    x.register_hook(seen.append)
    (gelu(x) + square(x)).backward(weights)
    leaf = x.detach()
    truth = gelu_backward_oracle(weights, leaf)
    truth = truth + square_backward_oracle(weights, leaf)
    (sum_of_both,) = seen
    assert x.grad is not None
    assert_true(sum_of_both, truth)
    assert torch.equal(sum_of_both, x.grad)


def test_on_a_result(x: Tensor, weights: Tensor) -> None:
    z = gelu(x)
    seen: list[Tensor] = []
    z.register_hook(seen.append)
    ((weights * z).sum() + z.sum()).backward()
    (sum_of_both,) = seen
    assert torch.equal(sum_of_both, weights + 1)


def test_what_a_hook_returns_replaces_the_sum(x: Tensor) -> None:
    z = gelu(x)
    z.register_hook(torch.zeros_like)
    (z.sum() + z.sum()).backward()
    assert x.grad is not None
    assert not x.grad.any()
