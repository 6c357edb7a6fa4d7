"""A kernel that adds to its output, tuned: each trial adds once more."""

# /// script
# [tool.bookpress]
# fails = "wrong number"
# ///

from collections.abc import Callable
from typing import Any

import torch

from triton_grad.device import DEVICE
from triton_grad.traps.row_sum_kernel_no_reset_to_zero import (
    CONFIGS,
    row_sum_kernel_no_reset_to_zero,
)

# isort: split
# Last: tl.sum is for the device that is known when triton is imported.
import triton

ROWS, COLS = 4, 300
# The kernel beneath the museum's decorator, to be tuned anew.
row_sum_kernel = row_sum_kernel_no_reset_to_zero.fn


def timer(
    run: Callable[[], None], quantiles: tuple[float, ...]
) -> list[float]:
    """Three runs; Triton's own timer makes hundreds."""
    for _ in range(3):
        run()
    return [1.0] * len(quantiles)


def first_sum(tuned: Any, x: torch.Tensor) -> float:
    """The first row's sum from a tuner that has not seen this shape."""
    y = torch.zeros(ROWS, device=DEVICE)
    tuned[lambda meta: (ROWS, triton.cdiv(COLS, meta["BLOCK"]))](x, y, COLS)
    return y[0].item()


x = torch.ones(ROWS, COLS).to(DEVICE)
careless: Any = triton.autotune(CONFIGS, key=["cols"], do_bench=timer)(
    row_sum_kernel
)
print("configs:", len(CONFIGS))
print("right sum:", COLS)
print("first call:", first_sum(careless, x))
print("second call:", first_sum(careless, x))

careful: Any = triton.autotune(
    CONFIGS, key=["cols"], do_bench=timer, reset_to_zero=["y_ptr"]
)(row_sum_kernel)
print("first call, reset_to_zero:", first_sum(careful, x))
