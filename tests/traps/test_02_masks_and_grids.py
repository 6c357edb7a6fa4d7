"""What a program touches tells more than what it computes."""

from triton_grad.testing.museum import Exhibit
from triton_grad.testing.report import Report, Verdict
from triton_grad.testing.tour import passes

FAMILY = "Masks and grids"


def test_the_weak_test_passes_it(exhibit: Exhibit) -> None:
    assert passes(exhibit)


def test_check_op_names_it(exhibit: Exhibit, report: Report) -> None:
    assert report.diagnosis
    assert report.diagnosis.name == exhibit.cause
    verdicts = {it.check: it.verdict for it in report.results}
    touched = ("bounds", "written", "offsets")
    assert Verdict.WRONG in [verdicts[it] for it in touched]
