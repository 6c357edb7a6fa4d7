"""One number on its way through the kernel, drawn as a flowchart."""

# /// script
# requires-python = ">=3.11"
# dependencies = ["torch", "triton", "numpy"]
# [tool.bookpress]
# not-in-chapter-file = "It draws a diagram for the page."
# ///

import torch

from triton_grad.device import DEVICE
from triton_grad.launch import launch_programs
from triton_grad.ops.gelu_erf import gelu_backward_kernel

start = torch.tensor([1.2345678]).to(DEVICE)
stored = start.half()
one = torch.ones_like(stored)
computed = torch.empty(1, device=DEVICE)
result = torch.empty(1, dtype=torch.float16, device=DEVICE)
launch_programs(gelu_backward_kernel, one, stored, computed, BLOCK=1)
launch_programs(gelu_backward_kernel, one, stored, result, BLOCK=1)

print("flowchart TD")
print(f'    x["x, made in fp32<br/>{start.item():.7f}"]')
print(f'    s["x, in memory<br/>as fp16<br/>{stored.item():.7f}"]')
print(
    f'    l["x, in the kernel<br/>as fp32<br/>{stored.float().item():.7f}"]'
)
print(f'    c["gradient, computed<br/>in fp32<br/>{computed.item():.7f}"]')
print(f'    r["gradient, in memory<br/>as fp16<br/>{result.item():.7f}"]')
lost = (start.double() - stored.double()).abs().item()
print(f'    x -->|"stored as fp16<br/>off by {lost:.1e}"| s')
print('    s -->|"loaded and upcast<br/>exact"| l')
print('    l -->|"fp32 arithmetic"| c')
lost = (computed.double() - result.double()).abs().item()
print(f'    c -->|"stored as fp16<br/>off by {lost:.1e}"| r')
