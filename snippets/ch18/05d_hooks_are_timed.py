"""What restores a tensor between the trials is timed along with them."""

# /// script
# [tool.bookpress]
# devices = ["cuda"]
# undisturbed = true
# not-in-chapter-file = "It needs a GPU: the interpreter has no timer."
# varies = [
#     "plain, best and worst in microseconds",
#     "plain, worst over best",
#     "with restore_value, best and worst in microseconds",
#     "with restore_value, worst over best",
# ]
# ///

from typing import Any

import torch
import triton

from triton_grad.device import DEVICE
from triton_grad.ops.gelu_erf import gelu_forward_kernel

CHOICES = [
    triton.Config({"BLOCK": block}, num_warps=warps)
    for block, warps in ((128, 1), (128, 16), (1024, 4), (8192, 8))
]
n = 2**26
x = torch.randn(n, device=DEVICE)
y = torch.empty_like(x)

for name, options in {
    "plain": {},
    "with restore_value": {"restore_value": ["y_ptr"]},
}.items():
    tuned: Any = triton.autotune(CHOICES, key=["n"], **options)(
        gelu_forward_kernel
    )
    tuned[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
    times = sorted(1e3 * it[0] for it in tuned.configs_timings.values())
    best, *_, worst = times
    print(
        f"{name}, best and worst in microseconds:",
        [round(best, 1), round(worst, 1)],
    )
    print(f"{name}, worst over best:", round(worst / best, 3))
