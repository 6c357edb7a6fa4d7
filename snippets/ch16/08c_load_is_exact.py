"""Every 16-bit number, loaded and widened: which ones change."""

# /// script
# requires-python = ">=3.11"
# dependencies = ["torch", "triton", "numpy"]
# [tool.bookpress]
# differs = """
# The interpreter of this version widens bf16's subnormal numbers wrongly,
# each of them but 0. The GPU widens each number exactly.
# """
# ///

import torch
import triton
import triton.language as tl

from triton_grad.device import DEVICE
from triton_grad.launch import launch_programs


@triton.jit
def widen_kernel(x_ptr, wide_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask).to(tl.float32)
    tl.store(wide_ptr + offsets, x, mask=mask)


# All patterns of 16 bits, read as fp16 and as bf16.
patterns = torch.arange(-(2**15), 2**15, dtype=torch.int16)
for name, dtype in (("fp16", torch.float16), ("bf16", torch.bfloat16)):
    stored = patterns.view(dtype).to(DEVICE)
    loaded = torch.empty(2**16, device=DEVICE)
    launch_programs(widen_kernel, stored, loaded, BLOCK=1024)

    numbers = ~stored.isnan()
    normal = stored.abs() >= torch.finfo(dtype).tiny
    changed = numbers & (loaded.double() != stored.double())
    print(f"{name}, numbers:", numbers.sum().item())
    print(f"{name}, normal numbers changed:", (changed & normal).sum().item())
    print(f"{name}, others changed:", (changed & ~normal).sum().item())
