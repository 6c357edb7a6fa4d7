"""A gradient with stride 0, and a forbidden page behind its one element."""

# /// script
# requires-python = ">=3.11"
# dependencies = ["torch", "triton", "numpy"]
# [tool.bookpress]
# exit-code = {interpreter = 139, cuda = 0}
# fails = "crash"
# not-in-chapter-file = "It ends the process that it runs in."
# differs = """
# On the CPU a forbidden page lies behind the one element, and the first
# read past it ends the process. On the GPU nothing is forbidden: the kernel
# reads whatever lies there, and the run goes on as if it were the gradient.
# """
# ///

import torch

from triton_grad.device import DEVICE
from triton_grad.testing.guard_pages import guarded
from triton_grad.traps.triton_gelu_backward_no_contiguous import (
    triton_gelu_backward_no_contiguous,
)

one = torch.ones(1)
memory = guarded(one) if DEVICE == "cpu" else one.to(DEVICE)
grad_output = memory.expand(10000)
x = torch.zeros(10000, device=DEVICE)

print("elements:", grad_output.numel())
print("elements in memory:", memory.numel())
print("launching the masked kernel: now", flush=True)
grad_input = triton_gelu_backward_no_contiguous(grad_output, x)
print("first element of the gradient:", grad_input[0].item())
print("error: none")
