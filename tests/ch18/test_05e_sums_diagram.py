"""What is drawn: the output after each run of a first call."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import triton

from triton_grad.device import DEVICE
from triton_grad.traps.row_sum_kernel_no_reset_to_zero import (
    CONFIGS,
    row_sum_kernel_no_reset_to_zero,
)


@pytest.mark.parametrize(
    ("options", "sums"),
    [
        ({}, [70, 140, 210, 280, 350]),
        ({"reset_to_zero": ["y_ptr"]}, [70, 70, 70, 70, 70]),
    ],
)
def test_the_output_after_each_run(
    options: dict[str, Any], sums: list[int]
) -> None:
    x = torch.ones(1, 70).to(DEVICE)
    y = torch.zeros(1, device=DEVICE)
    seen = []

    def timed(run: Callable[[], None], quantiles: tuple[float, ...]):
        for _ in range(2):
            run()
            seen.append(y.item())
        return [1.0] * 3

    tuned: Any = triton.autotune(
        CONFIGS, ["cols"], do_bench=timed, **options
    )(row_sum_kernel_no_reset_to_zero.fn)
    tuned[lambda meta: (1, -(-70 // meta["BLOCK"]))](x, y, 70)
    assert [*seen, y.item()] == sums
