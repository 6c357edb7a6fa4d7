"""With the new forward the old backward is found out, and not before."""

import torch
from torch import Tensor

from triton_grad.examples.log_softmax import LogSoftmax
from triton_grad.examples.log_softmax_draft import (
    DraftLogSoftmax,
    draft_log_softmax,
)
from triton_grad.testing.check import check_op
from triton_grad.testing.report import Result, Verdict

CHECKS = ("gradient", "losses", "second order")


class NewForward(DraftLogSoftmax):
    forward = staticmethod(LogSoftmax.forward)


def new_forward(x: Tensor, dim: int) -> Tensor:
    return NewForward.apply(x)


def results_of(op: object) -> list[Result]:
    assert callable(op)
    report = check_op(
        op,
        torch.log_softmax,
        ("rows cols", -1),
        dtypes=[torch.float32],
        checks=CHECKS,
    )
    return list(report.results)


def test_a_wrong_forward_hides_the_losses() -> None:
    _, losses, second = results_of(draft_log_softmax)
    assert losses.verdict is Verdict.NOT_TRIED
    assert second.verdict is Verdict.NOT_TRIED


def test_what_the_old_backward_gets_wrong() -> None:
    gradient, losses, second = results_of(new_forward)
    assert gradient.verdict is Verdict.RIGHT
    causes = [it.failure and it.failure.cause for it in (losses, second)]
    assert [it and it.name for it in causes] == [
        "gradient read with the input's strides",
        "second order dropped",
    ]
