"""Caught by a random grad_output, missed by sum().backward()."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from triton_grad.oracle import gelu_backward_oracle
from triton_grad.traps.gelu_backward_kernel_no_chain_rule import (
    TritonGELUNoChainRule,
    triton_gelu_backward_no_chain_rule,
)

AssertRight = Callable[[Tensor, Tensor], None]
Draw = Callable[..., Tensor]


def test_a_random_gradient_catches_it(
    draw: Draw, assert_right: AssertRight
) -> None:
    x, grad_output = draw(100, seed=1), draw(100, seed=2)
    wrong = triton_gelu_backward_no_chain_rule(grad_output, x)
    with pytest.raises(AssertionError):
        assert_right(wrong, gelu_backward_oracle(grad_output, x))


def test_sum_misses_it(draw: Draw, assert_right: AssertRight) -> None:
    x = draw(100, seed=1).requires_grad_()
    (dx,) = torch.autograd.grad(TritonGELUNoChainRule.apply(x).sum(), x)
    truth = gelu_backward_oracle(torch.ones_like(x), x.detach())
    assert_right(dx, truth)


def test_it_is_off_by_what_the_loss_hands_down(draw: Draw) -> None:
    x = draw(100, seed=1).requires_grad_()
    y = TritonGELUNoChainRule.apply(x)
    (dx,) = torch.autograd.grad((2.0 * y).sum(), x, retain_graph=True)
    (of_mean,) = torch.autograd.grad(y.mean(), x)
    truth = gelu_backward_oracle(torch.full_like(x, 2.0), x.detach())
    torch.testing.assert_close(2.0 * dx.double(), truth, rtol=2e-6, atol=4e-6)
    assert torch.equal(of_mean, dx)
