"""The fit's report is what its script writes, as it stands."""

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mpmath
import pytest
import torch

from triton_grad.normal import TAIL_FLOAT32, TAIL_FLOAT64, TAIL_ROUGH

BENCH = Path(__file__).parents[2] / "bench"
CONSTANTS = {
    "FLOAT32": TAIL_FLOAT32,
    "FLOAT64": TAIL_FLOAT64,
    "ROUGH": TAIL_ROUGH,
}


@pytest.fixture(scope="module")
def fitting() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCH))
        yield importlib.import_module("fit_normal_tail")
    del sys.modules["fit_normal_tail"]


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    text = (BENCH / "fit_normal_tail.json").read_text("utf-8")
    return json.loads(text)["fits"]


def test_the_report_tells_of_the_kernels_own_coefficients(
    fitting: Any, report: dict[str, Any]
) -> None:
    assert set(report) == set(fitting.FITS) == set(CONSTANTS)
    for name, (terms, end, form) in fitting.FITS.items():
        constants = list(CONSTANTS[name].value)
        assert report[name]["terms"] == terms == len(constants)
        largest = float(report[name]["error"])
        for t, error in report[name]["curve"][::40]:
            with mpmath.workdps(50):
                v = form.variable(t)
                exact = float(fitting.error_at(constants, form, v))
            # t is written down with three digits.
            assert exact == pytest.approx(error, abs=0.05 * largest)
        assert report[name]["curve"][-1][0] == end


def test_the_report_tells_of_the_fit_as_it_is(
    fitting: Any, report: dict[str, Any]
) -> None:
    for name, of in fitting.FITS.items():
        _, error = fitting.fit(*of)
        assert report[name]["error"] == f"{error:.1e}"


def test_no_point_of_a_curve_is_above_the_largest_error(
    report: dict[str, Any],
) -> None:
    for it in report.values():
        highest = max(abs(error) for _, error in it["curve"])
        # The float64 coefficients' own rounding comes on top of the fit's.
        assert highest < 1.1 * float(it["error"]) + 2.0**-53


def test_half_of_the_rough_tail_at_zero_is_exact() -> None:
    total = torch.tensor(0.0)
    for coefficient in TAIL_ROUGH.value:
        total = total + torch.tensor(coefficient)
    assert total.item() == 2.0**-25
