"""GELU alone: its precision, and derivatives beyond the first."""

from collections.abc import Callable

import torch
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.ops.gelu import (
    gelu,
    gelu_backward_op,
    gelu_forward_op,
    gelu_second_derivative,
)
from triton_grad.oracle import (
    gelu_backward_oracle,
    gelu_oracle,
    normal_pdf_oracle,
)

Draw = Callable[..., Tensor]


def test_float64_is_computed_in_float64(draw: Draw) -> None:
    """Constants rounded to float32 would leave an error of 1e-8."""
    x = 2.0 * draw(2000, seed=3, dtype=torch.float64)
    grad_output = draw(2000, seed=4, dtype=torch.float64)
    forward = (gelu_forward_op(x) - gelu_oracle(x)).abs().max()
    backward = (
        gelu_backward_op(grad_output, x)
        - gelu_backward_oracle(grad_output, x)
    ).abs()
    assert forward < 4e-15
    assert backward.max() < 4e-15


def test_the_third_derivative(draw: Draw) -> None:
    """(x³ - 4x) φ(x), with a random cotangent at each step."""
    x = draw(40, seed=5, dtype=torch.float64).requires_grad_()
    a, b, c = (draw(40, seed=s, dtype=torch.float64) for s in (6, 7, 8))
    (first,) = torch.autograd.grad(gelu(x), x, a, create_graph=True)
    (second,) = torch.autograd.grad(first, x, b, create_graph=True)
    (third,) = torch.autograd.grad(second, x, c)
    at = x.detach()
    truth = a * b * c * (at**3 - 4.0 * at) * normal_pdf_oracle(at)
    torch.testing.assert_close(third, truth, rtol=1e-12, atol=1e-14)


def test_mixed_second_derivative(draw: Draw) -> None:
    """The gradient's gradient with respect to grad_output is the op again."""
    x = draw(40, seed=9, dtype=torch.float64).requires_grad_()
    u, v = (
        draw(40, seed=s, dtype=torch.float64).requires_grad_()
        for s in (10, 11)
    )
    (first,) = torch.autograd.grad(gelu(x), x, u, create_graph=True)
    (by_u,) = torch.autograd.grad(first, u, v, create_graph=True)
    at = x.detach()
    torch.testing.assert_close(by_u, gelu_backward_oracle(v, at))
    w = draw(40, seed=12, dtype=torch.float64)
    (by_u_then_x,) = torch.autograd.grad(by_u, x, w)
    truth = w * v.detach() * (2.0 - at**2) * normal_pdf_oracle(at)
    torch.testing.assert_close(by_u_then_x, truth)


def test_a_gradient_penalty_reaches_the_weights(draw: Draw) -> None:
    def penalty_gradient(function: Callable[[Tensor], Tensor]) -> Tensor:
        weight = draw(6, 4, seed=13, dtype=torch.float64).requires_grad_()
        x = draw(3, 6, seed=14, dtype=torch.float64).requires_grad_()
        y = function(x @ weight)
        (dx,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        return torch.autograd.grad(dx.square().sum(), weight)[0]

    ours = penalty_gradient(gelu)
    theirs = penalty_gradient(torch.nn.functional.gelu)
    torch.testing.assert_close(ours, theirs)


def test_the_second_derivative_is_finite_where_x_squared_is_not() -> None:
    x = torch.tensor([-1e30, -60000.0, 60000.0, 1e30], device=DEVICE)
    assert torch.equal(gelu_second_derivative(x), torch.zeros_like(x))
