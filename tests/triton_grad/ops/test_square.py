"""The square alone."""

from collections.abc import Callable

import torch
from torch import Tensor

from triton_grad.ops.square import square, square_backward_op
from triton_grad.oracle import square_backward_oracle

Draw = Callable[..., Tensor]


def test_float32_is_exact_to_half_a_unit(draw: Draw) -> None:
    """One rounding each way: 2x is exact, the product is rounded once."""
    x, grad_output = draw(3000, seed=1), draw(3000, seed=2)
    assert torch.equal(square(x), x * x)
    truth = square_backward_oracle(grad_output, x)
    assert torch.equal(square_backward_op(grad_output, x), truth.float())


def test_the_third_derivative_vanishes(draw: Draw) -> None:
    """Of x², but not of (x²)²: its third is 24x."""
    x = draw(9, seed=3, dtype=torch.float64).requires_grad_()
    derivative = square(square(x))
    for _ in range(3):
        (derivative,) = torch.autograd.grad(
            derivative.sum(), x, create_graph=True
        )
    torch.testing.assert_close(derivative, 24.0 * x)
