"""What the output holds after each run of a first call, drawn from it."""

# /// script
# [tool.bookpress]
# not-in-chapter-file = "It draws a diagram for the page."
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

COLS = 300
x = torch.ones(1, COLS).to(DEVICE)
sums: list[str] = []


def timer(
    run: Callable[[], None], quantiles: tuple[float, ...]
) -> list[float]:
    for _ in range(2):
        run()
        sums.append(f"trial<br/>{y.item():.0f}")
    return [1.0] * len(quantiles)


print("flowchart TB")
for name, options in {
    "plain": {},
    "reset_to_zero": {"reset_to_zero": ["y_ptr"]},
}.items():
    tuned: Any = triton.autotune(
        CONFIGS, key=["cols"], do_bench=timer, **options
    )(row_sum_kernel_no_reset_to_zero.fn)
    sums[:] = [f"{name}<br/>0"]
    y = torch.zeros(1, device=DEVICE)
    tuned[lambda meta: (1, triton.cdiv(COLS, meta["BLOCK"]))](x, y, COLS)
    sums.append(f"the launch<br/>{y.item():.0f}")
    for number, step in enumerate(sums):
        arrow = f"{name}{number - 1} --> " if number else ""
        print(f'    {arrow}{name}{number}["{step}"]')
