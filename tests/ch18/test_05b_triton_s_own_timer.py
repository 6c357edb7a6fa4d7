"""Triton's own timer runs a config hundreds of times."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from triton_grad.device import DEVICE
from triton_grad.traps.row_sum_kernel_no_reset_to_zero import (
    TritonRowSumNoResetToZero,
    row_sum_kernel_no_reset_to_zero,
)


def first_and_second(cols: int) -> tuple[float, float]:
    """Over the right sum."""
    x = torch.ones(1, cols).to(DEVICE)
    sums = [TritonRowSumNoResetToZero.apply(x).item() for _ in range(2)]
    return sums[0] / cols, sums[1] / cols


def test_a_timer_of_hundreds_is_in_the_sum(
    timer: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    tuner = vars(row_sum_kernel_no_reset_to_zero)
    monkeypatch.setitem(tuner, "do_bench", timer(runs=200))
    monkeypatch.setitem(tuner, "cache", {})
    assert first_and_second(50) == (401.0, 1.0)


@pytest.mark.gpu
@pytest.mark.skipif(DEVICE == "cpu", reason="needs Triton's own timer")
def test_triton_s_own_is_such_a_timer() -> None:
    first, second = first_and_second(51)
    assert first > 100
    assert second == 1.0
