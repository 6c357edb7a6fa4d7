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

# dtype: (rtol, atol). Truth is computed in float64 from the very values the
# kernel reads, so only the op's own arithmetic and its store are allowed for.
TOLERANCES = {
    # The store rounds to nearest, half a unit in the last place: 2**-11 of
    # the value, or 2**-25 where float16 is subnormal. atol: see float32.
    torch.float16: (2**-11 + 2e-6, 2e-6),
    # Likewise: 2**-8 of the value.
    torch.bfloat16: (2**-8 + 2e-6, 2e-6),
    # Some units of 2**-24. 1 + erf cancels in the lower tail and leaves an
    # absolute error of about |x| 2**-24, times |grad_output|: |x| < 6 here.
    torch.float32: (2e-6, 2e-6),
    # The same in units of 2**-53.
    torch.float64: (4e-15, 4e-15),
}


def _assert_right(actual: Tensor, truth: Tensor) -> None:
    """Compare with the float64 truth, as tightly as the dtype allows."""
    assert truth.dtype == torch.float64
    rtol, atol = TOLERANCES[actual.dtype]
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
