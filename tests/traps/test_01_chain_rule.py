"""What is lost is lost in the gradient: no value is wrong."""

from triton_grad.testing.museum import Exhibit
from triton_grad.testing.report import Report, Verdict
from triton_grad.testing.tour import passes

FAMILY = "Chain rule"


def test_the_weak_test_passes_it(exhibit: Exhibit) -> None:
    assert passes(exhibit)


def test_check_op_names_it(exhibit: Exhibit, report: Report) -> None:
    assert report.diagnosis
    assert report.diagnosis.name == exhibit.cause
    verdicts = {it.check: it.verdict for it in report.results}
    assert verdicts["values"] is Verdict.RIGHT
    assert verdicts["gradient"] is Verdict.WRONG
