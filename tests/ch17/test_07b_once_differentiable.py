"""once_differentiable is no guard; a differentiable backward needs none."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from triton_grad.ops.square import (
    square,
    square_backward_op,
    square_forward_op,
)

Op = Callable[[Tensor], Tensor]


def itself(y: Tensor) -> Tensor:
    """The loss that hands down ones, which need no gradient."""
    return y


class OnceSquare(torch.autograd.Function):
    """The square by the library's kernels, differentiable once."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return square_forward_op(x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return square_backward_op(grad_output, x)


def x_times_slope(op: Op, loss: Op, x: Tensor) -> Tensor:
    (slope,) = torch.autograd.grad(loss(op(x)).sum(), x, create_graph=True)
    return (x * slope).sum()


def test_a_plain_gradient_from_outside_is_not_refused(x: Tensor) -> None:
    # y = x², x dy/dx = 2x², and the derivative of that is 4x.
    (dx,) = torch.autograd.grad(x_times_slope(OnceSquare.apply, itself, x), x)
    assert torch.equal(dx, 2 * x)
    x_times_slope(OnceSquare.apply, itself, x).backward()
    assert x.grad is not None
    assert torch.equal(x.grad, 2 * x)


def test_one_that_needs_a_gradient_is_refused_by_backward(x: Tensor) -> None:
    second = x_times_slope(OnceSquare.apply, torch.square, x)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        second.backward()


def test_and_not_by_grad(x: Tensor) -> None:
    # y² = x⁴, x times its slope is 4x⁴, and the derivative of that 16x³.
    second = x_times_slope(OnceSquare.apply, torch.square, x)
    (dx,) = torch.autograd.grad(second, x)
    torch.testing.assert_close(dx, 4 * x**3)


def test_the_library_is_right_in_all_of_them(
    x: Tensor, assert_true: Callable[[Tensor | None, Tensor], None]
) -> None:
    leaf = x.detach().double()
    (dx,) = torch.autograd.grad(x_times_slope(square, itself, x), x)
    assert_true(dx, 4 * leaf)
    (dx,) = torch.autograd.grad(x_times_slope(square, torch.square, x), x)
    torch.testing.assert_close(
        dx.double(), 16 * leaf**3, rtol=2e-6, atol=1e-5
    )
