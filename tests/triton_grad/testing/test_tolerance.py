"""What a right op is allowed, and what it is not."""

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from triton_grad.testing.tolerance import (
    doubt_of,
    error_units,
    floor_of,
    rounding_cost,
    worst_error,
)

EPS = torch.finfo(torch.float32).eps


def test_the_cost_of_rounding_is_the_condition() -> None:
    """Of x**10 it is ten times that of x, half of eps each."""

    def tenth_power(inputs: Sequence[Tensor]) -> list[Tensor]:
        return [inputs[0] ** 10]

    x = torch.linspace(0.5, 2.0, 7, dtype=torch.float64)
    (cost,) = rounding_cost(tenth_power, [x], tenth_power([x]), EPS)
    torch.testing.assert_close(
        cost / x**10, torch.full((7,), 5.0).double() * EPS
    )


def test_where_terms_cancel_more_is_allowed() -> None:
    def difference(inputs: Sequence[Tensor]) -> list[Tensor]:
        return [inputs[0] - inputs[1]]

    near = [torch.tensor([1000.0 + d]).double() for d in (0.5, 0.0)]
    (cost,) = rounding_cost(difference, near, difference(near), EPS)
    assert cost.item() == pytest.approx(1000.0 * EPS, rel=0.01)


def test_integers_are_never_perturbed() -> None:
    def gathered(inputs: Sequence[Tensor]) -> list[Tensor]:
        return [inputs[1][inputs[0]]]

    inputs = [torch.tensor([2, 0]), torch.arange(1.0, 4.0).double()]
    (cost,) = rounding_cost(gathered, inputs, gathered(inputs), EPS)
    assert (cost < EPS * 3.0).all()
    assert (cost > 0.0).all()


def test_a_result_of_16_bits_is_held_to_float32_arithmetic() -> None:
    """Twice the last place is an error, whatever the inputs' rounding."""
    truth = torch.tensor([1.0], dtype=torch.float64)
    cost = torch.tensor([EPS], dtype=torch.float64)
    units = error_units(truth, cost, torch.float16, wide=True)
    last_place = torch.finfo(torch.float16).eps
    wrong = worst_error(truth + 2.0 * last_place, truth, units)
    right = worst_error(truth + last_place, truth, units)
    assert right.item() < 1.5 < wrong.item()


def test_infinities_are_right_where_the_dtype_has_no_such_number() -> None:
    truth = torch.tensor([1e6, 1e6, torch.nan], dtype=torch.float64)
    units = torch.ones(3, dtype=torch.float64)
    actual = torch.tensor([torch.inf, -torch.inf, torch.nan]).half()
    errors = worst_error(actual, truth, units)
    assert errors.tolist() == [0.0, torch.inf, 0.0]


def test_a_number_in_the_place_of_nan_is_wrong() -> None:
    truth = torch.tensor([torch.nan], dtype=torch.float64)
    units = torch.ones(1, dtype=torch.float64)
    assert worst_error(torch.zeros(1), truth, units).isinf().all()


def test_an_oracle_is_believed_to_a_few_roundings_of_float64() -> None:
    """F.gelu(-9) in float64 is off by 5e-17, and its result is 1e-18."""
    x = torch.tensor([-9.0], dtype=torch.float64)
    truth = 0.5 * x * torch.erfc(-x / 2.0**0.5)
    off = (torch.nn.functional.gelu(x) - truth).abs()
    assert off > 0.5 * truth.abs()
    assert off < doubt_of([x], truth)


def test_small_results_among_large_ones_need_not_have_all_digits() -> None:
    truth = torch.tensor([1.0, 1e-9, torch.inf], dtype=torch.float64)
    floor = floor_of(truth, EPS)
    assert (floor < EPS).all()
    assert (floor > 0.1 * EPS).all()
