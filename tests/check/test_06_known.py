"""What is announced is told, and fails no report; nothing else is hidden."""

import torch

from triton_grad.examples.log_softmax import log_softmax
from triton_grad.testing.check import check_op
from triton_grad.testing.report import Report, Verdict

REASON = "in float32 on purpose"


def report_of(dtype: torch.dtype, known: dict[str, str]) -> Report:
    return check_op(
        log_softmax,
        torch.log_softmax,
        ("rows cols", -1),
        dtypes=[dtype],
        checks=["dtypes"],
        known=known,
    )


def test_a_known_failure_passes_and_gives_its_reason() -> None:
    assert not report_of(torch.float64, {}).passed
    report = report_of(torch.float64, {"dtypes": REASON})
    assert report.passed
    (result,) = report.results
    assert result.verdict is Verdict.KNOWN
    assert result.note == REASON


def test_what_is_right_stays_right() -> None:
    (result,) = report_of(torch.float16, {"dtypes": REASON}).results
    assert result.verdict is Verdict.RIGHT
