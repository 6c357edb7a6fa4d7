"""Shares of different consumers are added before the one call."""

from collections.abc import Callable

import torch
from torch import Tensor

from triton_grad.ops.gelu import gelu
from triton_grad.oracle import gelu_backward_oracle


def test_two_and_three_make_five(
    x: Tensor,
    backward_calls: list[tuple[str, Tensor]],
    assert_true: Callable[[Tensor | None, Tensor], None],
) -> None:
    z = gelu(x)
    ((2 * z).sum() + (3 * z).sum()).backward()
    ((_, grad_output),) = backward_calls
    assert torch.equal(grad_output, torch.full_like(x, 5.0))
    assert_true(x.grad, gelu_backward_oracle(grad_output, x.detach()))


def test_shares_that_differ_from_element_to_element(
    x: Tensor,
    weights: Tensor,
    backward_calls: list[tuple[str, Tensor]],
    assert_true: Callable[[Tensor | None, Tensor], None],
) -> None:
    z = gelu(x)
    ((weights * z).sum() + (weights.flip(0) * z).sum()).backward()
    ((_, grad_output),) = backward_calls
    assert torch.equal(grad_output, weights + weights.flip(0))
    assert_true(x.grad, gelu_backward_oracle(grad_output, x.detach()))
