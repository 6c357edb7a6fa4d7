"""The library's launches: a rule that the sweep found, in place of trials."""

import torch

from triton_grad.launch import warps_of

for dtype in (torch.float32, torch.bfloat16):
    x = torch.empty(1, dtype=dtype)
    name = str(dtype).removeprefix("torch.")
    for block in (512, 1024, 2048):
        warps = warps_of(x, block)
        print(f"{name}, BLOCK {block}, warps:", warps)
        each = block // (32 * warps)
        print(f"{name}, BLOCK {block}, elements of a thread:", each)
