"""What the twins of chapter 16 share: draws, the yardstick, a process."""

import subprocess
import sys
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from triton_grad.device import DEVICE


@pytest.fixture
def pair() -> Callable[[int], tuple[Tensor, Tensor]]:
    """Draws n elements of x, and a cotangent that is not x."""

    def draw(n: int) -> tuple[Tensor, Tensor]:
        generator = torch.Generator().manual_seed(n)
        x = 2 * torch.randn(n, generator=generator)
        grad_output = torch.randn(n, generator=generator)
        return x.to(DEVICE), grad_output.to(DEVICE)

    return draw


@pytest.fixture
def assert_true() -> Callable[[Tensor, Tensor], None]:
    """fp32 against fp64: about ten roundings, and values of up to ten."""

    def check(got: Tensor, truth: Tensor) -> None:
        assert truth.dtype == torch.float64
        torch.testing.assert_close(got.double(), truth, rtol=1e-6, atol=1e-6)

    return check


@pytest.fixture
def ending() -> Callable[[str], tuple[int, str]]:
    """Runs code in a fresh process: its exit code and what it printed."""

    def run(code: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            timeout=120,
        )
        return done.returncode, done.stdout

    return run
