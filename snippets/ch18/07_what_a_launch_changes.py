"""num_warps changes the code; num_stages, without a loop, does not."""

# /// script
# [tool.bookpress]
# devices = ["cuda"]
# timeout = 120
# not-in-chapter-file = "It needs a GPU: the interpreter compiles nothing."
# ///

from typing import Any

import torch

from triton_grad.device import DEVICE
from triton_grad.ops.gelu_erf import gelu_forward_kernel

n = 2**20
x = torch.randn(n).to(DEVICE)
y = torch.empty_like(x)
kernel: Any = gelu_forward_kernel


def compiled(BLOCK: int, **options: int) -> Any:
    """The binary of a launch."""
    return kernel[(n // BLOCK,)](x, y, n, BLOCK=BLOCK, **options)


stages = {compiled(1024, num_stages=it).asm["cubin"] for it in (1, 2, 3, 4)}
print("binaries of num_stages 1, 2, 3 and 4:", len(stages))
for warps in (1, 2, 4, 8, 16):
    made = compiled(4096, num_warps=warps)
    print(f"num_warps {warps}, elements of a thread:", 4096 // (32 * warps))
    print(f"num_warps {warps}, registers of a thread:", made.n_regs)
    print(f"num_warps {warps}, spills:", made.n_spills)
