"""What a missing mask does to the tensor that lies behind."""

# /// script
# requires-python = ">=3.11"
# dependencies = ["torch", "triton", "numpy"]
# [tool.bookpress]
# atol = 5e-7
# fails = "wrong number"
# differs = """
# The last lines are of a GPU alone. What lies behind a tensor of its own is,
# on the CPU, the heap of the process (the example before), and on the GPU
# the next tensor.
# """
# ///

import torch
import triton

from triton_grad.device import DEVICE
from triton_grad.launch import launch_programs
from triton_grad.ops.gelu_erf import gelu_backward_kernel
from triton_grad.oracle import gelu_backward_oracle
from triton_grad.traps.gelu_backward_kernel_no_mask import (
    gelu_backward_kernel_no_mask,
)

torch.manual_seed(0)
n, BLOCK = 10000, 1024
lanes = int(triton.cdiv(n, BLOCK)) * BLOCK
# Each buffer is as long as the lanes reach: no access leaves its memory.
x = torch.randn(lanes).to(DEVICE)[:n]
grad_output = torch.randn(lanes).to(DEVICE)[:n]
truth = gelu_backward_oracle(grad_output, x)

kernels = {
    "masked": gelu_backward_kernel,
    "unmasked": gelu_backward_kernel_no_mask,
}
for name, kernel in kernels.items():
    buffer = torch.full((lanes,), 7.0, device=DEVICE)
    grad_input, neighbour = buffer[:n], buffer[n:]
    launch_programs(kernel, grad_output, x, grad_input, BLOCK=BLOCK)
    diff = (grad_input - truth).abs().max().item()
    print(f"{name}, grad_input, max abs diff:", diff)
    print(f"{name}, neighbour, elements:", neighbour.numel())
    print(f"{name}, neighbour, overwritten:", (neighbour != 7).sum().item())

if DEVICE == "cuda":
    # Of many tensors, the two that lie last are next to one another.
    tensors = [torch.full((n,), 7.0, device=DEVICE) for _ in range(8)]
    *_, grad_input, neighbour = sorted(tensors, key=torch.Tensor.data_ptr)
    apart = neighbour.data_ptr() - grad_input.data_ptr() - grad_input.nbytes
    kernel = gelu_backward_kernel_no_mask
    launch_programs(kernel, grad_output, x, grad_input, BLOCK=BLOCK)
    print("two tensors, bytes between them:", apart)
    print("two tensors, overwritten:", (neighbour != 7).sum().item())
