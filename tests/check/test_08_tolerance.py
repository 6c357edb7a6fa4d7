"""An op that is worse than its units allow is wrong; one that is not, not."""

import pytest
import torch
from torch import Tensor

from triton_grad.testing.check import check_op
from triton_grad.testing.tolerance import ALLOWED

UNIT = torch.finfo(torch.float32).eps


def off_by(units: float):
    """The identity, but for some units in the last place, at most."""

    def op(x: Tensor) -> Tensor:
        return x * (1.0 + units * UNIT)

    return op


@pytest.mark.parametrize(("share", "passed"), [(0.5, True), (4.0, False)])
def test_where_the_line_is(share: float, passed: bool) -> None:
    report = check_op(
        off_by(share * ALLOWED[torch.float32]),
        lambda x: x * 1.0,
        dtypes=[torch.float32],
        checks=["values"],
    )
    assert report.passed == passed
