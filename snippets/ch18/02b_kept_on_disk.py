"""cache_results keeps the times in a file, for the next process too."""

# /// script
# [tool.bookpress]
# devices = ["cuda"]
# not-in-chapter-file = "It needs a GPU: the interpreter keeps no times."
# ///

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import triton
from triton.testing import do_bench

from triton_grad.device import DEVICE
from triton_grad.ops.gelu_erf import gelu_forward_kernel

os.environ["TRITON_CACHE_DIR"] = os.path.abspath("cache")
CHOICES = [triton.Config({"BLOCK": block}) for block in (256, 1024, 4096)]
n = 2**24
x = torch.randn(n).to(DEVICE)
y = torch.empty_like(x)
trials = 0


def timer(run: Callable[[], None], quantiles: tuple[float, ...]) -> Any:
    global trials
    trials += 1
    return do_bench(run, quantiles=quantiles)


def new_tuner() -> Any:
    """One that remembers nothing, as in a process that has just begun."""
    tuned: Any = triton.autotune(
        CHOICES, key=["n"], do_bench=timer, cache_results=True
    )(gelu_forward_kernel)
    tuned[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
    return tuned


first = new_tuner()
print("trials of the first tuner:", trials)
second = new_tuner()
print("trials of both:", trials)
print("one choice:", first.best_config == second.best_config)
print("kept in:", [it.name for it in Path("cache").rglob("*.autotune.json")])
