"""Tuned at a small n, with no n in the key: and then a large n comes."""

# /// script
# [tool.bookpress]
# devices = ["cuda"]
# undisturbed = true
# not-in-chapter-file = "It needs a GPU: the interpreter has no timer."
# varies = [
#     "launch chosen at n = 2**10",
#     "its microseconds at n = 2**26",
#     "launch chosen at n = 2**26",
#     "its microseconds",
#     "time lost",
# ]
# ///

import statistics
from typing import Any

import torch
import triton
from triton.testing import do_bench

from triton_grad.device import DEVICE
from triton_grad.ops.gelu_erf import gelu_forward_kernel

CHOICES = [
    triton.Config({"BLOCK": block}, num_warps=warps)
    for block in (128, 1024)
    for warps in (1, 4, 16)
]


def tensors(n: int) -> tuple[Any, ...]:
    x = torch.randn(n, device=DEVICE)
    return x, torch.empty_like(x), n


def launch(tuned: Any, arguments: tuple[Any, ...]) -> None:
    *_, n = arguments
    tuned[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](*arguments)


def microseconds(tuned: Any, arguments: tuple[Any, ...]) -> float:
    times: Any = do_bench(lambda: launch(tuned, arguments), return_mode="all")
    return 1e3 * statistics.median(times)


small, large = tensors(2**10), tensors(2**26)
no_n: Any = triton.autotune(CHOICES, key=[])(gelu_forward_kernel)
launch(no_n, small)
lost = microseconds(no_n, large)
with_n: Any = triton.autotune(CHOICES, key=["n"])(gelu_forward_kernel)
best = microseconds(with_n, large)
print("launch chosen at n = 2**10:", no_n.best_config)
print("its microseconds at n = 2**26:", round(lost, 1))
print("launch chosen at n = 2**26:", with_n.best_config)
print("its microseconds:", round(best, 1))
print("time lost:", f"{lost / best - 1:.1%}")
