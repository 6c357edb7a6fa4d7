"""Without a GPU there is no timer: one config runs, two do not."""

# /// script
# [tool.bookpress]
# varies = ["two configs"]
# differs = "A GPU has a timer, and runs the kernel."
# ///

from typing import Any

import torch
import triton

from triton_grad.device import DEVICE
from triton_grad.ops.gelu_erf import gelu_forward_kernel

n = 1000
x = torch.randn(n).to(DEVICE)
y = torch.full_like(x, torch.nan)


def launch(blocks: list[int]) -> str:
    configs = [triton.Config({"BLOCK": block}) for block in blocks]
    tuned: Any = triton.autotune(configs, key=["n"])(gelu_forward_kernel)
    y.fill_(torch.nan)
    try:
        tuned[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
    except RuntimeError as error:
        return f"RuntimeError: {error}"
    return f"BLOCK {tuned.best_config.kwargs['BLOCK']}"


print("one config:", launch([128]))
print("one config, elements written:", y.isfinite().sum().item())
print("two configs:", launch([128, 256]))
print("two configs, elements written:", y.isfinite().sum().item())
