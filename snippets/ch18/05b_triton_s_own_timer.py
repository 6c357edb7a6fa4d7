"""The same kernel by Triton's own timer: how many runs a first call makes."""

# /// script
# [tool.bookpress]
# devices = ["cuda"]
# fails = "wrong number"
# not-in-chapter-file = "It needs a GPU: the interpreter has no timer."
# varies = ["first call", "runs of the kernel"]
# ///

import torch

from triton_grad.device import DEVICE
from triton_grad.traps.row_sum_kernel_no_reset_to_zero import (
    row_sum_kernel_no_reset_to_zero,
)

ROWS, COLS = 4, 300


def first_row(x: torch.Tensor) -> float:
    y = torch.zeros(ROWS, device=DEVICE)
    row_sum_kernel_no_reset_to_zero[
        lambda meta: (ROWS, -(-COLS // meta["BLOCK"]))
    ](x, y, COLS)
    return y[0].item()


x = torch.ones(ROWS, COLS).to(DEVICE)
print("right sum:", COLS)
first = first_row(x)
print("first call:", first)
print("runs of the kernel:", round(first / COLS))
print("second call:", first_row(x))
