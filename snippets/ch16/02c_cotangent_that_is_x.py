"""A test whose cotangent is x cannot see the two arguments swapped."""

# /// script
# requires-python = ">=3.11"
# dependencies = ["torch", "triton", "numpy"]
# [tool.bookpress]
# atol = 5e-7
# fails = "wrong number"
# ///

import torch

from triton_grad.device import DEVICE
from triton_grad.ops.gelu_erf import triton_gelu_backward
from triton_grad.oracle import gelu_backward_oracle


def swapped(grad_output: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return triton_gelu_backward(x, grad_output)


def max_abs_diff(grad_output: torch.Tensor, x: torch.Tensor) -> float:
    right = gelu_backward_oracle(grad_output, x)
    return (swapped(grad_output, x) - right).abs().max().item()


torch.manual_seed(0)
x = torch.randn(1000).to(DEVICE)
torch.manual_seed(0)
same_seed = torch.randn(1000).to(DEVICE)
drawn_after = torch.randn(1000).to(DEVICE)

print("one seed makes the cotangent x:", torch.equal(same_seed, x))
print("swapped, cotangent from that seed:", max_abs_diff(same_seed, x))
print("swapped, cotangent of its own:", max_abs_diff(drawn_after, x))
