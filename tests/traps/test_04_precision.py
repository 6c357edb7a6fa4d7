"""Ordinary numbers in float32 are right."""

from triton_grad.testing.museum import Exhibit
from triton_grad.testing.report import Report, Verdict
from triton_grad.testing.tour import passes

FAMILY = "Precision"


def test_the_weak_test_passes_it(exhibit: Exhibit) -> None:
    assert passes(exhibit)


def test_check_op_names_it(exhibit: Exhibit, report: Report) -> None:
    assert report.diagnosis
    assert report.diagnosis.name == exhibit.cause
    verdicts = {it.check: it.verdict for it in report.results}
    assert verdicts["values"] is Verdict.RIGHT
    assert verdicts["gradient"] is Verdict.RIGHT
    asked = ("dtypes", "small results", "special values")
    assert {it.check for it in report.failed} & {*asked}
