"""What makes a call a first call: the key, and every tensor's dtype."""

from collections.abc import Callable
from typing import Any

import torch
import triton

from triton_grad.device import DEVICE
from triton_grad.ops.gelu_erf import gelu_forward_kernel

CHOICES = [triton.Config({"BLOCK": block}) for block in (128, 256)]
trials = 0


def timer(
    run: Callable[[], None], quantiles: tuple[float, ...]
) -> list[float]:
    global trials
    trials += 1
    return [1.0] * len(quantiles)


def launch(tuned: Any, n: int, dtype: torch.dtype = torch.float32) -> int:
    """How many trials a call makes."""
    global trials
    trials = 0
    x = torch.randn(n).to(DEVICE, dtype)
    y = torch.empty_like(x)
    tuned[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
    return trials


for key in ([], ["n"]):
    tuned: Any = triton.autotune(CHOICES, key=key, do_bench=timer)(
        gelu_forward_kernel
    )
    print(f"key {key}, first call:", launch(tuned, 1000))
    print(f"key {key}, again:", launch(tuned, 1000))
    print(f"key {key}, float16:", launch(tuned, 1000, torch.float16))
    sizes = [launch(tuned, n) for n in range(1001, 1009)]
    print(f"key {key}, eight other sizes:", sum(sizes))
    print(f"key {key}, choices kept:", len(tuned.cache))
    print(f"key {key}, the last:", list(tuned.cache)[-1])
