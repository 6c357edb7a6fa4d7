"""The first sum is too large by the trials; later ones are right."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import triton
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.traps.row_sum_kernel_no_reset_to_zero import (
    row_sum_kernel_no_reset_to_zero,
)

CONFIGS = [triton.Config({"BLOCK": block}) for block in (32, 64, 128)]


def row_sums(tuned: Any, x: Tensor) -> Tensor:
    rows, cols = x.shape
    y = torch.zeros(rows, device=DEVICE)
    tuned[lambda meta: (rows, -(-cols // meta["BLOCK"]))](x, y, cols)
    return y


def tuned_sum(timed: object, **options: Any) -> Any:
    return triton.autotune(CONFIGS, ["cols"], do_bench=timed, **options)(
        row_sum_kernel_no_reset_to_zero.fn
    )


@pytest.mark.parametrize("runs", [1, 4])
def test_each_run_of_a_trial_adds_once_more(
    timer: Callable[..., Any], runs: int
) -> None:
    tuned = tuned_sum(timer(runs=runs))
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(3, 100, generator=generator).to(DEVICE)
    truth = x.double().sum(1).float()
    torch.testing.assert_close(
        row_sums(tuned, x), (3 * runs + 1) * truth, rtol=1e-4, atol=1e-4
    )
    torch.testing.assert_close(
        row_sums(tuned, x), truth, rtol=1e-4, atol=1e-4
    )


def test_reset_to_zero_makes_the_first_one_right(
    timer: Callable[..., Any],
) -> None:
    timed = timer(runs=4)
    tuned = tuned_sum(timed, reset_to_zero=["y_ptr"])
    x = torch.ones(3, 100).to(DEVICE)
    assert row_sums(tuned, x).tolist() == [100.0] * 3
    assert len(timed.trials) == 3


def test_reset_to_zero_leaves_later_calls_alone(
    timer: Callable[..., Any],
) -> None:
    tuned = tuned_sum(timer(), reset_to_zero=["y_ptr"])
    x = torch.ones(1, 100).to(DEVICE)
    y = torch.full((1,), 7.0, device=DEVICE)
    grid = lambda meta: (1, -(-100 // meta["BLOCK"]))  # noqa: E731
    tuned[grid](x, y, 100)
    # What the output held is lost in a first call, and only there.
    assert y.item() == 100.0
    tuned[grid](x, y, 100)
    assert y.item() == 200.0
