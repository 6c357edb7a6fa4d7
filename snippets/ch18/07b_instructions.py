"""How many instructions an element costs, counted in the machine code."""

# /// script
# [tool.bookpress]
# devices = ["cuda"]
# not-in-chapter-file = "It needs a GPU: the interpreter compiles nothing."
# ///

import re
from typing import Any

import torch

from triton_grad.device import DEVICE
from triton_grad.ops.gelu import accurate_gelu_forward_kernel
from triton_grad.ops.gelu_erf import gelu_forward_kernel

n, BLOCK, WARPS = 2**20, 1024, 4
KERNELS: dict[str, Any] = {
    "erf": gelu_forward_kernel,
    "library": accurate_gelu_forward_kernel,
}


def instructions(binary: Any) -> list[str]:
    """Their names, up to the end that needs no condition."""
    code = re.findall(r"\t(.*);", binary.asm["sass"])
    end = next(i for i, line in enumerate(code) if line.startswith("EXIT"))
    without_condition = [re.sub(r"^@!?\w+ ", "", line) for line in code]
    return [re.split(r"\W", it)[0] for it in without_condition[: end + 1]]


each = BLOCK // (32 * WARPS)
print("elements of a thread:", each)
for dtype in (torch.float32, torch.bfloat16):
    x = torch.randn(n).to(DEVICE, dtype)
    y = torch.empty_like(x)
    for name, kernel in KERNELS.items():
        made = kernel[(n // BLOCK,)](x, y, n, BLOCK=BLOCK, num_warps=WARPS)
        names = instructions(made)
        label = f"{name}, {str(dtype).removeprefix('torch.')}"
        print(f"{label}, instructions an element:", len(names) / each)
        special = names.count("MUFU") / each
        print(f"{label}, of the special unit:", special)
