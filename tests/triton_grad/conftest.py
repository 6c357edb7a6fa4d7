"""What right means in these tests, and how a crash is run."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.testing.promises import PROMISES


def tolerances(dtype: torch.dtype) -> tuple[float, float]:
    """rtol and atol, from the table of promises.

    Truth is computed in float64 from the very values the kernel reads, so
    only the op's own arithmetic and its store are allowed for. The largest
    promise stands for all regions but that of subnormal results, and the
    cotangents of these tests are below 5 in size.
    """
    rows = [
        row
        for row in PROMISES
        if dtype in row.dtypes and row.region != "subnormal results"
    ]
    info = torch.finfo(dtype)
    subnormal = info.smallest_normal * info.eps
    rtol = max(row.ulp for row in rows) * info.eps
    return rtol, 5.0 * max(row.absolute for row in rows) + subnormal


def _assert_right(actual: Tensor, truth: Tensor) -> None:
    """Compare with the float64 truth, as tightly as the dtype allows."""
    assert truth.dtype == torch.float64
    rtol, atol = tolerances(actual.dtype)
    torch.testing.assert_close(actual.double(), truth, rtol=rtol, atol=atol)


@pytest.fixture
def assert_right() -> Callable[[Tensor, Tensor], None]:
    return _assert_right


@pytest.fixture
def draw() -> Callable[..., Tensor]:
    """Random values: on the CPU's generator, then moved."""

    def drawn(
        *shape: int, seed: int, dtype: torch.dtype = torch.float32
    ) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        # Drawn wide: float64 values must not all be float32 ones.
        values = torch.randn(*shape, generator=generator, dtype=torch.float64)
        return values.to(DEVICE, dtype)

    return drawn


@pytest.fixture
def run_python(
    tmp_path: Path,
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run source in a process of its own, which may crash."""

    def run(
        source: str, interpret: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        environment = dict(os.environ)
        environment.pop("TRITON_INTERPRET", None)
        environment["TRITON_CACHE_DIR"] = str(tmp_path / "compiled")
        if interpret is not None:
            environment["TRITON_INTERPRET"] = interpret
        return subprocess.run(
            [sys.executable, "-c", source],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run
