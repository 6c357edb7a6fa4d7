"""A config that leaves elements out is fast, and another filled them in."""

# /// script
# [tool.bookpress]
# fails = "wrong number"
# undisturbed = {cuda = true}
# ///

from collections.abc import Callable
from typing import Any

import torch
import triton

from triton_grad.device import DEVICE
from triton_grad.ops.gelu_erf import gelu_forward_kernel
from triton_grad.oracle import gelu_oracle

CHOICES = [triton.Config({"BLOCK": block}) for block in (1024, 256)]
n = 2**24 if DEVICE == "cuda" else 2**12
prices = iter([4.0, 1.0])


def made_up(
    run: Callable[[], None], quantiles: tuple[float, ...]
) -> list[float]:
    """A quarter of the elements in a quarter of the time."""
    run()
    return [next(prices)] * len(quantiles)


# On a GPU it is Triton's own timer that decides.
timer = None if DEVICE == "cuda" else made_up
tuned: Any = triton.autotune(CHOICES, key=["n"], do_bench=timer)(
    gelu_forward_kernel
)
x = torch.randn(n).to(DEVICE)
truth = gelu_oracle(x)
outputs = [torch.full_like(x, torch.nan) for _ in range(2)]
for y in outputs:
    # The grid is right for one BLOCK; a config changes the other's half.
    tuned[(triton.cdiv(n, 1024),)](x, y, n)

print("BLOCK chosen:", tuned.best_config.kwargs["BLOCK"])
for call, y in zip(("first", "second"), outputs, strict=True):
    error = (y - truth).abs().nan_to_num(torch.inf).max().item()
    print(f"{call} call is right:", error < 1e-5)
    print(
        f"{call} call, part never written:", y.isnan().double().mean().item()
    )
