"""One line in a test: silence, or the whole report."""

import pytest
import torch

from triton_grad.examples.log_softmax import log_softmax
from triton_grad.examples.log_softmax_draft import draft_log_softmax
from triton_grad.testing.check import check_op

CALL = {
    "oracle": torch.log_softmax,
    "inputs": ("rows cols", -1),
    "dtypes": [torch.float32],
    "checks": ["values", "bounds"],
}


def test_it_is_silent() -> None:
    check_op(log_softmax, **CALL).assert_right()


def test_the_message_is_the_report() -> None:
    report = check_op(draft_log_softmax, **CALL)
    with pytest.raises(AssertionError) as caught:
        report.assert_right()
    assert str(caught.value) == str(report)
    assert "padding lanes in a reduction" in str(report)
