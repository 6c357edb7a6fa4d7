"""A trap fails a strict test; with its marked lines replaced it does not.

The test is strict about all that the museum is about: values and gradients
in every layout and in 16 bits, what is touched and what is written, what
happens to tensors that are somebody else's, and the second order.
"""

import importlib.util
import sys
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from triton_grad.device import INTERPRETED
from triton_grad.testing.museum import EXHIBITS, Exhibit
from triton_grad.testing.poison import poisoned
from triton_grad.testing.promises import ulp_error
from triton_grad.testing.watch import watch
from triton_grad.testing.weak_tests import (
    FEW,
    RAGGED,
    Op,
    arguments,
    assert_agrees,
    assert_gradients,
    assert_near,
    assert_values,
    is_float,
    random_gradient,
    widened,
)

pytestmark = pytest.mark.skipif(
    not INTERPRETED, reason="the watch is the interpreter's"
)

CLOSE = 2e-5
LONG_ROWS = (2, 1000, 50)
LAYOUTS = [
    *product(["in order"], ["a slice", "some columns", "transposed"]),
    *product(["a slice", "some columns", "transposed"], ["in order"]),
    ("transposed", "transposed"),
    ("transposed", "a slice"),
]

every_exhibit = pytest.mark.parametrize(
    "exhibit", EXHIBITS, ids=lambda exhibit: exhibit.name
)


def home_of(exhibit: Exhibit) -> ModuleType:
    function: Any = exhibit.op
    return sys.modules[function.__self__.__module__]


@pytest.fixture
def fixed(
    exhibit: Exhibit,
    fixed_source: Callable[[ModuleType], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Op:
    """The exhibit's op, from the mended file."""
    name = f"mended_{exhibit.name}"
    path = tmp_path / f"{name}.py"
    path.write_text(fixed_source(home_of(exhibit)))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    function: Any = exhibit.op
    return getattr(module, function.__self__.__name__).apply


def laid_out(values: Tensor, layout: str) -> Tensor:
    """The values of a matrix, in order or not, among others or not."""
    rows, cols = values.shape
    places = {
        "in order": torch.full((rows, cols), 7.0).to(values),
        "a slice": torch.full((rows, 2 * cols), 7.0).to(values)[:, ::2],
        "some columns": torch.full((rows, cols + 3), 7.0).to(values)[
            :, :cols
        ],
        "transposed": torch.full((cols, rows), 7.0).to(values).t(),
    }
    return places[layout].copy_(values.detach()).requires_grad_()


def values_and_gradients(op: Op, oracle: Op, inputs: Sequence[Any]) -> None:
    for dtype, sizes in ((torch.float32, RAGGED), (torch.float64, FEW)):
        assert_agrees(op, oracle, arguments(inputs, sizes, dtype), CLOSE)


def layouts(op: Op, oracle: Op, inputs: Sequence[Any]) -> None:
    for of_x, of_gradient in LAYOUTS:
        called_with = arguments(inputs, FEW)
        called_with[0] = laid_out(called_with[0], of_x)
        truth = assert_values(op, oracle, called_with, CLOSE)
        grad_output = random_gradient(truth).float()
        if truth.dim() == 2:
            grad_output = laid_out(grad_output, of_gradient).detach()
        assert_gradients(op, oracle, called_with, grad_output, CLOSE)


def sixteen_bits(op: Op, oracle: Op, inputs: Sequence[Any]) -> None:
    """The value is one rounding away; gradients may go by rounded values."""
    called_with = arguments(inputs, LONG_ROWS, torch.float16)
    truth = oracle(*widened(called_with)).detach()
    error = ulp_error(op(*called_with).detach(), truth, torch.float16)
    assert error.max() < 0.75
    assert_agrees(op, oracle, called_with, 4e-3)


def tails(op: Op, oracle: Op, inputs: Sequence[Any]) -> None:
    """Far below 0, where an absolute tolerance says nothing."""
    called_with = arguments(
        inputs, FEW, change=lambda values: -5.0 - values.abs()
    )
    truth = oracle(*widened(called_with)).detach()
    actual = op(*called_with).detach().double()
    torch.testing.assert_close(actual, truth, rtol=CLOSE, atol=0.0)


def not_a_number(op: Op, oracle: Op, inputs: Sequence[Any]) -> None:
    called_with = arguments(inputs, FEW)
    called_with[0].data[0, 0] = torch.nan
    truth = oracle(*widened(called_with))
    assert torch.equal(op(*called_with).isnan(), truth.isnan())


def what_is_not_its_own(op: Op, oracle: Op, inputs: Sequence[Any]) -> None:
    """Inputs, gradients and earlier results stay what they were."""
    called_with = arguments(inputs, FEW)
    theirs = [it for it in called_with if isinstance(it, Tensor)]
    y = op(*called_with)
    theirs += [y, random_gradient(y.detach())]
    before = [it.detach().clone() for it in theirs]
    op(*arguments(inputs, FEW, one_seed=True))
    leaves = [it for it in called_with if is_float(it)]
    twice = [
        [
            grad.clone()
            for grad in torch.autograd.grad(
                y, leaves, theirs[-1], retain_graph=True
            )
        ]
        for _ in range(2)
    ]
    for first, second in zip(*twice, strict=True):
        assert torch.equal(first, second)
    for now, then in zip(theirs, before, strict=True):
        assert torch.equal(now.detach(), then)


def change_between(op: Op, oracle: Op, inputs: Sequence[Any]) -> None:
    """A changed input is refused, or makes no difference."""
    called_with = arguments(inputs, FEW)
    wide = widened(called_with)
    y, truth = op(*called_with), oracle(*wide)
    grad_output = random_gradient(truth.detach()).float()
    with torch.no_grad():
        called_with[0].mul_(2.0)
    (right,) = torch.autograd.grad(truth, wide[0], grad_output.double())
    try:
        (grad,) = torch.autograd.grad(y, called_with[0], grad_output)
    except RuntimeError as error:
        if "modified by an inplace" not in str(error):
            raise
    else:
        assert_near(grad, right, CLOSE)


def second_order(op: Op, oracle: Op, inputs: Sequence[Any]) -> None:
    """It is right, or refused."""
    called_with = arguments(inputs, FEW, torch.float64)
    wide = widened(called_with)
    right = slope_of_gradient(oracle, wide)
    try:
        actual = slope_of_gradient(op, called_with)
    except RuntimeError as error:
        if "no second derivative" not in str(error):
            raise
    else:
        assert_near(actual, right, CLOSE)


def slope_of_gradient(op: Op, called_with: Sequence[Any]) -> Tensor:
    """Of y and the gradient's square, weighted, by the first input."""
    x = called_with[0]
    y = op(*called_with)
    weight = random_gradient(y.detach())
    (dx,) = torch.autograd.grad((weight * y).sum(), x, create_graph=True)
    penalty = (weight * y).sum() + dx.square().sum()
    return torch.autograd.grad(penalty, x)[0]


PARTS = (
    values_and_gradients,
    layouts,
    sixteen_bits,
    not_a_number,
    what_is_not_its_own,
    change_between,
)


def assert_strictly_right(op: Op, exhibit: Exhibit) -> None:
    parts = list(PARTS)
    if "second order" not in exhibit.options.get("known", {}):
        parts.append(second_order)
    # Chapter 16's kernels have no tail, and some traps are made of them.
    if exhibit.cause == "cancellation in the tail":
        parts.append(tails)
    with poisoned(), watch(huge=True) as seen:
        for part in parts:
            part(op, exhibit.oracle, exhibit.inputs)
    assert not seen.faults
    assert not seen.gap_loads
    assert not seen.races
    assert not seen.wraps


def is_strictly_right(op: Op, exhibit: Exhibit) -> bool:
    """Also a kernel that refuses, or a failing launch, is not right."""
    try:
        assert_strictly_right(op, exhibit)
    except Exception:
        return False
    return True


@every_exhibit
def test_the_fix_makes_it_right(exhibit: Exhibit, fixed: Op) -> None:
    assert_strictly_right(fixed, exhibit)


@pytest.mark.parametrize(
    "exhibit",
    [it for it in EXHIBITS if it.needs == "interpreter"],
    ids=lambda exhibit: exhibit.name,
)
def test_without_the_fix_it_is_not(exhibit: Exhibit) -> None:
    assert not is_strictly_right(exhibit.op, exhibit)
