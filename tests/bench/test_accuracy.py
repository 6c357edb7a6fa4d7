"""bench/accuracy.py judges the ways to compute a GELU, and rightly."""

import importlib
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from torch import Tensor

from triton_grad.device import DEVICE

BENCH = Path(__file__).parents[2] / "bench"
POINTS = 2**10
HALVES = pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])


@pytest.fixture(scope="module")
def accuracy() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCH))
        yield importlib.import_module("accuracy")
    for name in ("accuracy", "provenance"):
        del sys.modules[name]


@pytest.fixture(scope="module")
def found(accuracy: Any) -> dict[str, Any]:
    return accuracy.report(POINTS)


def test_the_truth_is_nearer_than_any_way_s_digits(
    found: dict[str, Any],
) -> None:
    for error in found["truth"].values():
        assert float(error) < 1e-13


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_a_truth_that_is_off_is_told(accuracy: Any, direction: str) -> None:
    right = accuracy.DIRECTIONS[direction]
    wrong = accuracy.Direction(
        lambda x: right.truth(x) * (1.0 + 1e-9 * (x > 2.0).double()),
        right.size,
        right.exact,
        right.ways,
    )
    xs = torch.linspace(-3.0, 3.0, 8, dtype=torch.float64)
    assert accuracy.truth_error(right, xs) < 1e-14
    assert accuracy.truth_error(wrong, xs) == pytest.approx(1e-9, rel=1e-3)


def test_the_grid_reaches_every_size(accuracy: Any) -> None:
    x = accuracy.grid(2**12)
    assert x.dtype == torch.float32
    _, exponents = torch.frexp(x)
    for sign in (1.0, -1.0):
        mine = exponents[x.sign() == sign]
        # 13 is less than 2**4; frexp's exponents are one more.
        assert set(mine.tolist()) == set(range(-125, 5))
    assert x.abs().max() == 13.0


@HALVES
def test_all_numbers_are_all_finite_ones_once(
    accuracy: Any, dtype: torch.dtype
) -> None:
    x = accuracy.numbers(dtype)
    info = torch.finfo(dtype)
    assert x.dtype == dtype
    assert x.max() == info.max
    assert x.min() == info.min
    bits = x.view(torch.int16)
    assert len(bits.unique()) == len(bits)
    # Of the largest exponent none is finite.
    mantissas = 2 ** (-round(math.log2(info.eps)))
    assert len(bits) == 2**16 - 2 * mantissas


def test_a_float16_is_rounded_once(accuracy: Any) -> None:
    """As numpy does it, on numbers just beside the ties, and far out."""
    every = accuracy.numbers(torch.float16).cpu().double().unique()
    ties = (every[1:] + every[:-1]) / 2
    truth = torch.cat([ties, ties * (1 + 1e-12), ties * (1 - 1e-12)])
    truth = torch.cat([truth, torch.tensor([1e-30, 65519.9, 65520.0, 1e9])])
    with np.errstate(over="ignore"):
        right = truth.numpy().astype(np.float16)
    # What is looked for: PyTorch's rounds twice.
    assert (truth.half().numpy() != right).any()
    rounded = accuracy.nearest(truth, torch.float16)
    assert torch.equal(rounded, torch.from_numpy(right).double())


def test_a_bfloat16_is_rounded_once(accuracy: Any) -> None:
    unit = 2.0**-7
    for scale in (1.0, 2.0**-100, 2.0**100):
        truth = torch.tensor(
            [1 + unit / 2 * (1 + 1e-12), 1 + unit / 2, 1 + 3 * unit / 2],
            dtype=torch.float64,
        )
        right = torch.tensor([1 + unit, 1.0, 1 + 2 * unit]).double()
        rounded = accuracy.nearest(truth * scale, torch.bfloat16)
        assert torch.equal(rounded, right * scale)


def judged(accuracy: Any, way: Any, dtype: torch.dtype) -> dict[str, str]:
    direction = accuracy.DIRECTIONS["forward"]
    tried = accuracy.Direction(
        direction.truth, direction.size, direction.exact, {"it": way}
    )
    return accuracy.rounded_rightly(tried, dtype)["it"]


@HALVES
def test_only_what_is_rounded_rightly_is_counted(
    accuracy: Any, dtype: torch.dtype
) -> None:
    def right(x: Tensor) -> Tensor:
        truth = accuracy.DIRECTIONS["forward"].truth(x.double())
        return accuracy.nearest(truth, dtype).to(dtype)

    def wrong_at_minus_two(x: Tensor) -> Tensor:
        return torch.where(x == -2.0, 0.0, right(x))

    shares = judged(accuracy, right, dtype)
    for region in ("everywhere", "within", "tail"):
        assert shares[region] == "100.00 %"
        assert shares[f"{region}, wrong"].startswith("0 of ")
    shares = judged(accuracy, wrong_at_minus_two, dtype)
    for region in ("everywhere", "within", "tail"):
        assert shares[region] != "100.00 %"
        assert shares[f"{region}, wrong"].startswith("1 of ")


def test_an_error_in_float32_is_found_at_its_place(accuracy: Any) -> None:
    direction = accuracy.DIRECTIONS["forward"]

    def off(x: Tensor) -> Tensor:
        right = direction.truth(x.double()) * (1.0 + 1e-3 * (x == -4.0))
        return right.float()

    tried = accuracy.Direction(
        direction.truth, direction.size, direction.exact, {"it": off}
    )
    x = torch.linspace(-8.0, 8.0, 2**10 + 1)
    figures, curves = accuracy.errors_in_float32(tried, x)
    assert figures["it"]["relative error"] == {"value": "0.001", "x": "-4"}
    errors = dict(zip(curves["x"], curves["it"], strict=True))
    (where,) = [x for x, it in errors.items() if it and it > 1e-6]
    assert where == pytest.approx(-4.0, abs=0.04)
    assert errors[curves["x"][0]] is None


def test_a_slope_is_not_judged_by_its_zero(accuracy: Any) -> None:
    direction = accuracy.DIRECTIONS["backward"]
    with mpmath.workdps(20):
        root = mpmath.findroot(accuracy.exact_backward, -0.75)
    x = torch.tensor([float(root), -1.0]).float()
    tried = accuracy.Direction(
        direction.truth,
        direction.size,
        direction.exact,
        {"it": lambda x: direction.truth(x.double()).float() + 1e-7},
    )
    figures, _ = accuracy.errors_in_float32(tried, x)
    assert figures["it"]["relative error"]["value"] == "none"
    assert float(figures["it"]["of the terms"]["value"]) < 1e-6


def test_the_library_is_told_from_what_cancels(found: dict[str, Any]) -> None:
    for direction in ("forward", "backward"):
        ways = found["figures"]["fp32"][direction]
        assert float(ways["library"]["relative error"]["value"]) < 1e-5
        assert float(ways["library"]["units"]["value"]) < 17
        assert float(ways["teaching"]["relative error"]["value"]) > 1e-2


def test_every_region_has_results(found: dict[str, Any]) -> None:
    for dtype in ("fp16", "bf16"):
        for ways in found["figures"][dtype].values():
            for shares in ways.values():
                wrong = [it for key, it in shares.items() if "wrong" in key]
                assert len(wrong) == 3
                assert all(int(it.split(" of ")[1]) > 400 for it in wrong)


def test_the_page_s_plots_find_what_they_need(found: dict[str, Any]) -> None:
    text = json.dumps(found, allow_nan=False)
    for curves in json.loads(text)["curves"].values():
        assert set(curves) == {"x", "library", "pytorch", "teaching"}
        assert len({len(curve) for curve in curves.values()}) == 1


def test_what_it_ran_on_is_told(
    accuracy: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    facts = accuracy.provenance("accuracy.py", "abc1234")
    assert facts["commit"] == "abc1234"
    assert facts["command"] == "python bench/accuracy.py"
    assert (facts["driver"] == "none") == (DEVICE == "cpu")
    monkeypatch.setenv("OUT", str(tmp_path))
    assert accuracy.report_path("it") == tmp_path / "it.json"
    monkeypatch.delenv("OUT")
    assert accuracy.report_path("it").parent == BENCH
