"""A first call compiles and times every config; a later one only launches."""

# /// script
# [tool.bookpress]
# devices = ["cuda"]
# undisturbed = true
# not-in-chapter-file = "It needs a GPU: the interpreter has no timer."
# varies = [
#     "first call, seconds",
#     "of these, trials",
#     "later call, microseconds",
#     "first call, in later calls",
#     "chosen",
# ]
# ///

import os
import time
from typing import Any

import torch
import triton

from triton_grad.device import DEVICE
from triton_grad.ops.gelu_erf import gelu_forward_kernel

# An empty one, so that this is the first call that this machine has seen.
os.environ["TRITON_CACHE_DIR"] = os.path.abspath("cache")

CHOICES = [
    triton.Config({"BLOCK": block}, num_warps=warps)
    for block in (256, 512, 1024, 2048)
    for warps in (2, 4, 8)
]
n = 2**26
x = torch.randn(n).to(DEVICE, torch.bfloat16)
y = torch.empty_like(x)


def first_call() -> tuple[Any, float]:
    tuned: Any = triton.autotune(CHOICES, key=["n"])(gelu_forward_kernel)
    return tuned, seconds_of_a_call(tuned)


def seconds_of_a_call(tuned: Any) -> float:
    start = time.perf_counter()
    tuned[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
    torch.cuda.synchronize()
    return time.perf_counter() - start


_, cold = first_call()
# Another tuner, which has tried nothing yet: but the kernel is compiled.
tuned, trials = first_call()
later = min(seconds_of_a_call(tuned) for _ in range(20))
print("configs:", len(CHOICES))
print("first call, seconds:", round(cold, 2))
print("of these, trials:", round(trials, 2))
print("later call, microseconds:", round(later * 1e6, 1))
print("first call, in later calls:", round(cold / later))
print("chosen:", tuned.best_config)
