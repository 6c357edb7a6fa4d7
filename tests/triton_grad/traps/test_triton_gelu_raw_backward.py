"""Caught by a look at the second order, missed by every first gradient."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from triton_grad.ops.gelu import gelu
from triton_grad.traps.triton_gelu_raw_backward import TritonGELURawBackward

Draw = Callable[..., Tensor]


def test_the_gradient_has_no_graph(draw: Draw) -> None:
    x = draw(5, seed=1).requires_grad_()
    for function, tracked in (
        (gelu, True),
        (TritonGELURawBackward.apply, False),
    ):
        (dx,) = torch.autograd.grad(function(x).sum(), x, create_graph=True)
        assert dx.requires_grad is tracked


def test_gradgradcheck_catches_it(draw: Draw) -> None:
    x = draw(4, seed=1, dtype=torch.float64).requires_grad_()
    with pytest.raises(RuntimeError):
        torch.autograd.gradgradcheck(TritonGELURawBackward.apply, x)


def test_gradcheck_misses_it(draw: Draw) -> None:
    x = draw(4, seed=1, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(TritonGELURawBackward.apply, x)


def test_a_penalty_is_dropped_without_an_error(draw: Draw) -> None:
    x = draw(5, seed=1).requires_grad_()

    def gradient_of_loss(function: Callable[[Tensor], Tensor]) -> Tensor:
        y = function(x).sum()
        (dx,) = torch.autograd.grad(y, x, create_graph=True)
        return torch.autograd.grad(y + dx.square().sum(), x)[0]

    penalised = gradient_of_loss(TritonGELURawBackward.apply)
    (without,) = torch.autograd.grad(gelu(x).sum(), x)
    torch.testing.assert_close(penalised, without)
    assert not torch.allclose(gradient_of_loss(gelu), without)


class CubeOnceDifferentiable(torch.autograd.Function):
    """x³, its backward marked as the documentation says."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad_output * 3.0 * x**2


def test_once_differentiable_does_not_always_raise() -> None:
    """x dy/dx = 3x³ has the slope 36 at x = 2; dy/dx alone is seen."""
    x = torch.tensor(2.0, requires_grad=True)
    y = CubeOnceDifferentiable.apply(x)
    (dx,) = torch.autograd.grad(y, x, create_graph=True)
    (slope,) = torch.autograd.grad(x * dx, x)
    assert slope.item() == 12.0
