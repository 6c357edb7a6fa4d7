"""Which calls share a choice: drawn from what two tuners have kept."""

# /// script
# [tool.bookpress]
# not-in-chapter-file = "It draws a diagram for the page."
# ///

from collections.abc import Callable
from typing import Any

import torch
import triton

from triton_grad.device import DEVICE
from triton_grad.ops.gelu_erf import gelu_forward_kernel

CHOICES = [triton.Config({"BLOCK": block}) for block in (128, 256)]
CALLS = {
    "1000 × fp32": (1000, torch.float32),
    "1001 × fp32": (1001, torch.float32),
    "1000 × fp16": (1000, torch.float16),
}


def timer(
    run: Callable[[], None], quantiles: tuple[float, ...]
) -> list[float]:
    return [1.0] * len(quantiles)


def launch(tuned: Any, n: int, dtype: torch.dtype) -> None:
    x = torch.randn(n).to(DEVICE, dtype)
    y = torch.empty_like(x)
    tuned[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)


print("flowchart LR")
for key in ([], ["n"]):
    tuned: Any = triton.autotune(CHOICES, key=key, do_bench=timer)(
        gelu_forward_kernel
    )
    first_of: dict[int, str] = {}
    print(f'    subgraph tuner{len(key)}["key={key}"]')
    for number, (call, (n, dtype)) in enumerate(CALLS.items()):
        launch(tuned, n, dtype)
        choice = f"choice{len(key)}{len(tuned.cache)}"
        made_by = first_of.setdefault(len(tuned.cache), call)
        name = f"call{len(key)}{number}"
        print(f'    {name}(["{call}"]) --> {choice}["tuned for {made_by}"]')
    print("    end")
