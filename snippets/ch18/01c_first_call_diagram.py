"""The first two calls of a tuned kernel, drawn from what they did."""

# /// script
# [tool.bookpress]
# not-in-chapter-file = "It draws a diagram for the page."
# ///

from collections.abc import Callable

import torch
import triton

from triton_grad.device import DEVICE
from triton_grad.ops.gelu_erf import gelu_forward_kernel

CHOICES = [triton.Config({"BLOCK": block}) for block in (64, 128, 256)]
# Made up, in microseconds.
PRICES = {64: 300, 128: 100, 256: 200}
steps: list[str] = []


def timer(
    run: Callable[[], None], quantiles: tuple[float, ...]
) -> list[float]:
    run()
    block = int(steps.pop().split()[-1])
    steps.append(f"trial of BLOCK {block}<br/>{PRICES[block]} µs")
    return [PRICES[block] / 1e3] * len(quantiles)


def grid(meta: dict[str, int]) -> tuple[int]:
    steps.append(f"launch of BLOCK {meta['BLOCK']}")
    return (-(-n // meta["BLOCK"]),)


n = 1000
x = torch.randn(n).to(DEVICE)
y = torch.empty_like(x)
tuned = triton.autotune(CHOICES, key=["n"], do_bench=timer)(
    gelu_forward_kernel
)
print("flowchart TB")
for call in ("first", "second"):
    steps.clear()
    tuned[grid](x, y, n)
    print(f'    {call}(["{call} call"])')
    names = [f"{call}{number}" for number in range(len(steps))]
    for before, name, step in zip([call, *names], names, steps, strict=False):
        print(f'    {before} --> {name}["{step}"]')
