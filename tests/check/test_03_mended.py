"""The mended op is right in three dtypes, and refuses what it cannot do."""

import pytest
import torch

from triton_grad.device import DEVICE
from triton_grad.examples.log_softmax import log_softmax
from triton_grad.examples.log_softmax_draft import draft_log_softmax
from triton_grad.testing.check import check_op
from triton_grad.testing.report import Verdict

DTYPES = (torch.float16, torch.bfloat16, torch.float32)


def test_nothing_is_wrong() -> None:
    report = check_op(
        log_softmax, torch.log_softmax, ("rows cols", -1), dtypes=DTYPES
    )
    report.assert_right()
    refused = [
        it.check for it in report.results if it.verdict is Verdict.REFUSES
    ]
    assert refused == ["second order"]


def test_the_second_derivative_is_refused() -> None:
    x = torch.ones(2, 3, device=DEVICE, requires_grad=True)
    y = log_softmax(x, -1)
    with pytest.raises(NotImplementedError, match="differentiable once"):
        torch.autograd.grad(y.sum(), x, create_graph=True)


def test_the_gradient_of_a_sum() -> None:
    """Exactly 1 - cols times the softmax, of one element in memory."""
    x = torch.zeros(2, 5, device=DEVICE, requires_grad=True)
    (grad,) = torch.autograd.grad(log_softmax(x, -1).sum(), x)
    assert torch.allclose(grad.cpu(), torch.zeros(2, 5), atol=1e-6)


@pytest.mark.parametrize("op", [log_softmax, draft_log_softmax])
def test_another_dimension_is_refused(op: object) -> None:
    assert callable(op)
    with pytest.raises(ValueError, match="needs dim=-1, got 0"):
        op(torch.ones(2, 3, device=DEVICE), 0)
