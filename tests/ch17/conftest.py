"""Inputs of their own, the tolerance, and spies on the two backwards."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.ops import gelu as gelu_module
from triton_grad.ops import square as square_module


def draw(seed: int) -> Tensor:
    """300 normal numbers: no power of two, and no seed of the chapter."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(300, generator=generator).to(DEVICE)


@pytest.fixture
def x() -> Tensor:
    """A leaf that needs a gradient."""
    return draw(171).requires_grad_()


@pytest.fixture
def weights() -> Tensor:
    """A dense upstream gradient that is not x."""
    return draw(172)


@pytest.fixture
def assert_true() -> Callable[[Tensor | None, Tensor], None]:
    """Compare an fp32 result with fp64: a few roundings, scaled by size."""

    def compare(got: Tensor | None, truth: Tensor) -> None:
        assert got is not None
        torch.testing.assert_close(got.double(), truth, rtol=2e-6, atol=2e-6)

    return compare


@pytest.fixture
def backward_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> list[tuple[str, Tensor]]:
    """Which backward kernels were launched, and their grad_output."""
    calls: list[tuple[str, Tensor]] = []

    def spy_on(module: object, launch: str, op: str) -> None:
        original = getattr(module, launch)

        def noted(grad_output: Tensor, x: Tensor) -> Tensor:
            calls.append((op, grad_output.clone()))
            return original(grad_output, x)

        monkeypatch.setattr(module, launch, noted)

    spy_on(gelu_module, "gelu_backward_op", "gelu")
    spy_on(square_module, "square_backward_op", "square")
    return calls
