"""What every op promises is tried on all of them."""

from collections.abc import Iterator

import pytest
import torch

from triton_grad.testing.cases import OPS, OpCase


@pytest.fixture(params=OPS, ids=lambda op: op.name)
def op(request: pytest.FixtureRequest) -> OpCase:
    return request.param


@pytest.fixture
def poisoned_memory() -> Iterator[None]:
    """Memory that PyTorch hands out for writing is full of NaN."""
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)
