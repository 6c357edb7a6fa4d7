"""What every op promises is tried on all of them."""

import pytest

from triton_grad.testing.cases import OPS, OpCase


@pytest.fixture(params=OPS, ids=lambda op: op.name)
def op(request: pytest.FixtureRequest) -> OpCase:
    return request.param
