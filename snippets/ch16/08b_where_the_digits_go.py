"""The loss split: rounding the inputs, rounding the result, arithmetic."""

# /// script
# requires-python = ">=3.11"
# dependencies = ["torch", "triton", "numpy"]
# [tool.bookpress]
# loose = {"fp16, arithmetic" = 0.5, "bf16, arithmetic" = 0.5}
# rtol = 1e-2  # the fp32 result may lie on either side of a rounding
# differs = """
# The interpreter cuts off the digits that bf16 has no room for, where the
# GPU rounds to the nearest, as PyTorch does. It shows in the two lines whose
# kernel stores bf16.
# """
# ///

import torch

from triton_grad.device import DEVICE
from triton_grad.launch import launch_programs
from triton_grad.ops.gelu_erf import gelu_backward_kernel
from triton_grad.oracle import gelu_backward_oracle

torch.manual_seed(2)
n = 2048
x = (3 * torch.randn(n)).to(DEVICE)
grad_output = torch.randn(n).to(DEVICE)
truth = gelu_backward_oracle(grad_output, x)


def launch(
    inputs: torch.dtype, result: torch.dtype = torch.float32
) -> torch.Tensor:
    grad = torch.empty(n, dtype=result, device=DEVICE)
    rounded = grad_output.to(inputs), x.to(inputs)
    launch_programs(gelu_backward_kernel, *rounded, grad, BLOCK=512)
    return grad


def error(grad: torch.Tensor, against: torch.Tensor = truth) -> float:
    return (grad - against).abs().max().item()


for name, low in (("fp16", torch.float16), ("bf16", torch.bfloat16)):
    truth_of_rounded = gelu_backward_oracle(grad_output.to(low), x.to(low))
    print(f"{name}, arithmetic:", error(launch(low), truth_of_rounded))
    print(f"{name}, inputs rounded:", error(launch(low)))
    print(f"{name}, result rounded:", error(launch(torch.float32, low)))
    print(f"{name}, both:", error(launch(low, low)))
    print(f"{name}, both, PyTorch rounds:", error(launch(low).to(low)))
