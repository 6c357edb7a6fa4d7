"""Lanes that are no element, or two programs at one."""

import pytest

from triton_grad.device import DEVICE
from triton_grad.testing.museum import Exhibit
from triton_grad.testing.report import Report, Verdict
from triton_grad.testing.tour import passes

FAMILY = "Reductions"


def test_the_weak_test_passes_it(exhibit: Exhibit) -> None:
    if DEVICE == "cuda" and exhibit.cause == "racy accumulation":
        pytest.skip("programs that run at once do meet: it is no miss there")
    assert passes(exhibit)


def test_check_op_names_it(exhibit: Exhibit, report: Report) -> None:
    assert report.diagnosis
    assert report.diagnosis.name == exhibit.cause
    verdicts = {it.check: it.verdict for it in report.results}
    shown = ("values", "undefined lanes", "races")
    assert Verdict.WRONG in [verdicts[it] for it in shown]
