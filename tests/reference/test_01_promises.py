"""The promises hold at other points too, and the docstrings repeat them."""

import inspect
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import mpmath
import pytest
import torch
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.ops.gelu import gelu
from triton_grad.ops.square import square
from triton_grad.oracle import gelu_backward_oracle
from triton_grad.testing.cases import OPS
from triton_grad.testing.measure import keeps_promises, worst_errors
from triton_grad.testing.promises import DOUBLE, PROMISES, SINGLE, Promise

ROWS = [
    pytest.param(row, id=f"{row.op} {row.direction} {row.region} {number}")
    for number, row in enumerate(PROMISES)
]


def drawn_in(row: Promise, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Random x in the interval, and a cotangent of at most one in size."""
    generator = torch.Generator().manual_seed(31)
    low, high = max(row.low, -41.0), min(row.high, 41.0)
    draw = torch.rand(2, 60, generator=generator, dtype=torch.float64)
    x = (low + (high - low) * draw[0]).to(dtype)
    return x, (2.0 * draw[1] - 1.0).to(dtype)


def exactly(row: Promise, x: Tensor, grad_output: Tensor) -> Tensor:
    """The truth from erfc and powers, in 60 digits."""
    with mpmath.workdps(60):
        return torch.tensor(
            [
                float(FORMULAS[row.op, row.direction](mpmath.mpf(at), by))
                for at, by in zip(
                    x.tolist(), grad_output.tolist(), strict=True
                )
            ],
            dtype=torch.float64,
        )


def left_of(x: Any) -> Any:
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def bell(x: Any) -> Any:
    return mpmath.exp(-x * x / 2) / mpmath.sqrt(2 * mpmath.pi)


FORMULAS: dict[tuple[str, str], Callable[..., Any]] = {
    ("gelu", "forward"): lambda x, by: x * left_of(x),
    ("gelu", "backward"): lambda x, by: by * (left_of(x) + x * bell(x)),
    ("square", "forward"): lambda x, by: x * x,
    ("square", "backward"): lambda x, by: 2 * by * x,
}


@pytest.mark.parametrize("row", ROWS)
def test_it_holds_at_points_that_no_grid_has(row: Promise) -> None:
    (op,) = (it for it in OPS if it.name == row.op)
    for dtype in row.dtypes:
        x, grad_output = drawn_in(row, dtype)
        leaf = x.to(DEVICE).requires_grad_()
        actual = op.apply(leaf)
        if row.direction == "backward":
            (actual,) = torch.autograd.grad(
                actual, leaf, grad_output.to(DEVICE)
            )
        truth = exactly(row, x, grad_output)
        actual = actual.detach().cpu()
        assert keeps_promises(row.op, row.direction, x, actual, truth)


@pytest.mark.parametrize("row", ROWS[::4])
def test_ten_times_more_could_not_be_promised(row: Promise) -> None:
    stricter = replace(row, ulp=row.ulp / 10, absolute=row.absolute / 10)
    assert worst_errors(stricter).share > 1.0


def test_a_promise_ends_where_it_says() -> None:
    """Of 8 units: 8 are kept, 9 are not; 3 is for the right alone."""
    unit = torch.finfo(torch.float32).eps
    truth = torch.ones(1, dtype=torch.float64)
    for x, units, kept in (
        (-10.0, 8, True),
        (-10.0, 9, False),
        (0.5, 8, True),
        (0.5, 9, False),
        (1.0, 3, True),
        (1.0, 4, False),
    ):
        actual = torch.tensor([1.0 + units * unit])
        at = torch.tensor([x])
        assert keeps_promises("gelu", "forward", at, actual, truth) == kept


# -------------------------------------------------------- the docstrings


def said_by(op: Callable[[Tensor], Tensor], sentence: str) -> list[float]:
    """The figures in a docstring, where the sentence has a #."""
    text = " ".join((inspect.getdoc(op) or "").split())
    pattern = re.escape(sentence).replace(r"\#", r"(-?[\d.]+(?:e-?\d+)?)")
    found = re.search(pattern, text)
    assert found, f"the docstring of {op.__name__}() does not say: {sentence}"
    return [float(it) for it in found.groups()]


def rows_of(op: str, dtypes: tuple[torch.dtype, ...]) -> list[Promise]:
    return [
        row
        for row in PROMISES
        if row.op == op and set(dtypes) & set(row.dtypes)
    ]


def test_gelus_units() -> None:
    units = said_by(
        gelu,
        "In float32 and float64 the result is within # units in the last"
        " place of the exact value, and its gradient within # for"
        " |grad_output| <= 1, in the tails too",
    )
    rows = rows_of("gelu", SINGLE + DOUBLE)
    assert units == [
        max(
            row.ulp
            for row in rows
            if row.direction == direction
            and row.region != "subnormal results"
        )
        for direction in ("forward", "backward")
    ]


def test_gelus_units_in_16_bits() -> None:
    (more,) = said_by(
        gelu,
        "in float16 and bfloat16 they are its rounding, but for # of a unit",
    )
    halves = rows_of("gelu", (torch.float16, torch.bfloat16))
    assert [row.ulp for row in halves] == pytest.approx(
        [0.5 + more] * len(halves)
    )


def test_gelus_units_where_the_cdf_is_subnormal() -> None:
    figures = said_by(
        gelu, "(below # in float32, # in float64: # and # units)"
    )
    for dtypes, below, units in zip(
        (SINGLE, DOUBLE), figures[:2], figures[2:], strict=True
    ):
        rows = [
            row
            for row in rows_of("gelu", dtypes)
            if row.region == "subnormal results"
        ]
        assert {row.direction for row in rows} == {"forward", "backward"}
        assert {(row.high, row.ulp) for row in rows} == {(below, units)}


def test_gelus_gradient_around_its_zero() -> None:
    """The docstring gives two digits of the table's powers of 2."""
    zero, low, high, *figures = said_by(
        gelu,
        "around its zero at #: from # to # an absolute error comes on top,"
        " of # times grad_output (of # in float64)",
    )
    beside = torch.tensor([zero - 1e-4, zero + 1e-4], dtype=torch.float64)
    slopes = gelu_backward_oracle(torch.ones_like(beside), beside)
    assert slopes[0] < 0 < slopes[1]
    for dtypes, figure in zip((SINGLE, DOUBLE), figures, strict=True):
        (row,) = (row for row in rows_of("gelu", dtypes) if row.absolute)
        assert (row.low, row.high) == (low, high)
        assert row.low < zero < row.high
        assert row.absolute == pytest.approx(figure, rel=0.02, abs=0.0)


def test_squares_units() -> None:
    said_by(square, "The result is the exact value, rounded;")
    said_by(square, "the gradient is within a unit in its last place.")
    most = {
        direction: max(
            row.ulp
            for row in PROMISES
            if (row.op, row.direction) == ("square", direction)
        )
        for direction in ("forward", "backward")
    }
    assert most == {"forward": 0.5, "backward": 1}
