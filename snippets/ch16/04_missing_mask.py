"""Without masks: the first access past the end ends the process."""

# /// script
# requires-python = ">=3.11"
# dependencies = ["torch", "triton", "numpy"]
# [tool.bookpress]
# exit-code = {interpreter = 139, cuda = 0}
# fails = "crash"
# atol = 5e-7
# not-in-chapter-file = "It ends the process that it runs in."
# differs = """
# On the CPU the example lays a forbidden page behind each tensor, and the
# first access to it ends the process. On the GPU it forbids nothing: each
# access past the end falls on memory that may be used, so the run goes on,
# and nothing is reported.
# """
# ///

import torch

from triton_grad.device import DEVICE
from triton_grad.launch import launch_programs
from triton_grad.ops.gelu_erf import gelu_backward_kernel
from triton_grad.oracle import gelu_backward_oracle
from triton_grad.testing.guard_pages import guarded
from triton_grad.traps.gelu_backward_kernel_no_mask import (
    gelu_backward_kernel_no_mask,
)


def place(tensor: torch.Tensor) -> torch.Tensor:
    return guarded(tensor) if DEVICE == "cpu" else tensor.to(DEVICE)


torch.manual_seed(0)
n = 10000
x, grad_output = place(torch.randn(n)), place(torch.randn(n))
grad_input = place(torch.zeros(n))
right = gelu_backward_oracle(grad_output, x)

behind = "a forbidden page" if DEVICE == "cpu" else "the allocator's memory"
print("behind each tensor:", behind)
launch_programs(gelu_backward_kernel, grad_output, x, grad_input, BLOCK=1024)
print("masked, max abs diff:", (grad_input - right).abs().max().item())
print("launching without masks: now", flush=True)
launch_programs(
    gelu_backward_kernel_no_mask, grad_output, x, grad_input, BLOCK=1024
)
print("unmasked, max abs diff:", (grad_input - right).abs().max().item())
print("unmasked, error: none")
