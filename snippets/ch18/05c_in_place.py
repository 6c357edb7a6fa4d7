"""An in-place kernel, tuned: restore_value puts back what a trial took."""

# /// script
# [tool.bookpress]
# fails = "wrong number"
# ///

from collections.abc import Callable
from typing import Any

import torch
import triton

from triton_grad.device import DEVICE
from triton_grad.ops.gelu_erf import gelu_forward_kernel
from triton_grad.oracle import gelu_oracle

CHOICES = [triton.Config({"BLOCK": block}) for block in (128, 256)]


def timer(
    run: Callable[[], None], quantiles: tuple[float, ...]
) -> list[float]:
    for _ in range(3):
        run()
    return [1.0] * len(quantiles)


def in_place(x: torch.Tensor, **options: Any) -> torch.Tensor:
    """gelu, written over a copy of x, by a tuner that is new."""
    tuned: Any = triton.autotune(
        CHOICES, key=["n"], do_bench=timer, **options
    )(gelu_forward_kernel)
    y, n = x.clone(), x.numel()
    # x_ptr and y_ptr are one address.
    tuned[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](y, y, n)
    return y


x = torch.tensor([-1.0, 0.5, 2.0]).to(DEVICE)
again = x
for _ in range(7):
    again = gelu_oracle(again)
print("gelu(x):", [round(v, 4) for v in gelu_oracle(x).tolist()])
print("tuned in place:", [round(v, 4) for v in in_place(x).tolist()])
print("gelu, seven times:", [round(v, 4) for v in again.tolist()])
restored = in_place(x, restore_value=["x_ptr"])
print("with restore_value:", [round(v, 4) for v in restored.tolist()])
