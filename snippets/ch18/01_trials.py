"""The first call runs every config; a later one runs the config chosen."""

from collections.abc import Callable

import torch
import triton

from triton_grad.device import DEVICE
from triton_grad.ops.gelu_erf import gelu_forward_kernel

CHOICES = [triton.Config({"BLOCK": block}) for block in (64, 128, 256)]
# Made up: what a trial of each config is said to take, in milliseconds.
PRICES = iter([0.3, 0.1, 0.2])

trials: list[float] = []
grids: list[int] = []


def timer(
    run: Callable[[], None], quantiles: tuple[float, ...]
) -> list[float]:
    """What Triton calls to time a config: it may run it, and names times."""
    run()
    trials.append(next(PRICES))
    return [trials[-1]] * len(quantiles)


def grid(meta: dict[str, int]) -> tuple[int]:
    programs = -(-n // meta["BLOCK"])
    grids.append(programs)
    return (programs,)


n = 1000
x = torch.randn(n).to(DEVICE)
y = torch.empty_like(x)
# What the decorator @triton.autotune(...) makes of a kernel.
tuned = triton.autotune(CHOICES, key=["n"], do_bench=timer)(
    gelu_forward_kernel
)

tuned[grid](x, y, n)
print("trials of the first call:", len(trials))
print("programs of its launches:", grids)
print("BLOCK chosen:", tuned.best_config.kwargs["BLOCK"])

grids.clear()
tuned[grid](x, y, n)
print("trials after the second call:", len(trials))
print("programs of its launches, second call:", grids)
print("what it keeps:", [str(c) for c in tuned.cache.values()])
