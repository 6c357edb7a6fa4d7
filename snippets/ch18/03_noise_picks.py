"""Where a kernel takes as long as its launch, noise picks the config."""

# /// script
# [tool.bookpress]
# devices = ["cuda"]
# undisturbed = true
# timeout = 120
# not-in-chapter-file = "It needs a GPU: the interpreter has no timer."
# varies = [
#     "n = 2**10, BLOCK chosen",
#     "n = 2**10, best and worst in microseconds",
#     "n = 2**10, worst over best",
#     "n = 2**26, BLOCK chosen",
#     "n = 2**26, best and worst in microseconds",
#     "n = 2**26, worst over best",
# ]
# ///

from typing import Any

import torch
import triton

from triton_grad.device import DEVICE
from triton_grad.ops.gelu_erf import gelu_forward_kernel

CHOICES = [
    triton.Config({"BLOCK": block}, num_warps=8)
    for block in (128, 512, 1024, 8192)
]


def tune(n: int) -> tuple[int, list[float]]:
    """What is chosen, and the configs' times in microseconds, rising."""
    x = torch.randn(n, device=DEVICE)
    y = torch.empty_like(x)
    tuned: Any = triton.autotune(CHOICES, key=["n"])(gelu_forward_kernel)
    tuned[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
    times = sorted(1e3 * it[0] for it in tuned.configs_timings.values())
    return tuned.best_config.kwargs["BLOCK"], times


for power in (10, 26):
    choices, times = zip(*(tune(2**power) for _ in range(6)), strict=True)
    name = f"n = 2**{power}"
    best, *_, worst = times[-1]
    print(f"{name}, BLOCK chosen:", list(choices))
    print(
        f"{name}, best and worst in microseconds:",
        [round(best, 2), round(worst, 2)],
    )
    print(f"{name}, worst over best:", round(worst / best, 3))
