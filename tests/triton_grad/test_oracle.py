"""The oracle against values that it did not compute."""

import mpmath
import pytest
import torch

from triton_grad.oracle import (
    gelu_backward_formula,
    gelu_backward_oracle,
    gelu_oracle,
    square_backward_oracle,
    square_oracle,
)


@pytest.mark.parametrize("x", [-30.0, -10.0, -5.5, -1.0, -1e-9, 0.5, 7.0])
def test_the_tail_is_right_relatively(x: float) -> None:
    """Against arithmetic with 50 digits; 1 + erf has none left at -10."""
    point = torch.tensor(x, dtype=torch.float64)
    with mpmath.workdps(50):
        cdf = mpmath.ncdf(x)
        value, slope = x * cdf, cdf + x * mpmath.npdf(x)
    oracle = gelu_oracle(point).item()
    assert oracle == pytest.approx(float(value), rel=1e-12, abs=0)
    oracle = gelu_backward_oracle(torch.ones_like(point), point).item()
    assert oracle == pytest.approx(float(slope), rel=1e-12, abs=0)


def test_where_numbers_end() -> None:
    x = torch.tensor([-torch.inf, torch.inf, torch.nan])
    ones = torch.ones_like(x)
    assert gelu_oracle(x)[:2].tolist() == [0.0, torch.inf]
    assert gelu_backward_oracle(ones, x)[:2].tolist() == [0.0, 1.0]
    assert gelu_oracle(x)[2].isnan()
    assert gelu_backward_oracle(ones, x)[2].isnan()


def test_the_backward_oracles_are_the_slopes() -> None:
    x = torch.linspace(-6.0, 6.0, 101, dtype=torch.float64)
    x.requires_grad_()
    generator = torch.Generator().manual_seed(1)
    grad_output = torch.randn(101, generator=generator).double()
    for oracle, backward in (
        (gelu_oracle, gelu_backward_oracle),
        (square_oracle, square_backward_oracle),
    ):
        (slope,) = torch.autograd.grad(oracle(x), x, grad_output)
        ours = backward(grad_output, x.detach())
        torch.testing.assert_close(ours, slope, rtol=1e-12, atol=1e-15)


def test_float32_in_float64_out() -> None:
    x = torch.tensor([0.1, -3.0])
    for result in (
        gelu_oracle(x),
        gelu_backward_oracle(x, x),
        square_oracle(x),
        square_backward_oracle(x, x),
    ):
        assert result.dtype == torch.float64
    assert gelu_backward_formula(x, x).dtype == torch.float32


def test_nothing_is_computed_in_float32() -> None:
    x, grad_output = torch.tensor([0.1, -3.3]), torch.tensor([0.7, 1.9])
    for oracle in (gelu_oracle, square_oracle):
        assert torch.equal(oracle(x), oracle(x.double()))
    for oracle in (gelu_backward_oracle, square_backward_oracle):
        wide = oracle(grad_output.double(), x.double())
        assert torch.equal(oracle(grad_output, x), wide)


def test_the_plain_formula_agrees_in_float64() -> None:
    x = torch.linspace(-4.0, 4.0, 81, dtype=torch.float64)
    grad_output = torch.linspace(2.0, -1.0, 81, dtype=torch.float64)
    torch.testing.assert_close(
        gelu_backward_formula(grad_output, x),
        gelu_backward_oracle(grad_output, x),
        rtol=1e-12,
        atol=1e-14,
    )
