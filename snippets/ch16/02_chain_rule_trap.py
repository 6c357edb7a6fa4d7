"""A kernel without the chain rule: right for ones, half for twos."""

# /// script
# requires-python = ">=3.11"
# dependencies = ["torch", "triton", "numpy"]
# [tool.bookpress]
# fails = "wrong number"
# ///

import torch

from triton_grad.device import DEVICE
from triton_grad.ops.gelu_erf import triton_gelu_backward
from triton_grad.traps.gelu_backward_kernel_no_chain_rule import (
    triton_gelu_backward_no_chain_rule,
)

x = torch.tensor([-1.0, 0.5, 2.0]).to(DEVICE)

for name, factor in (("ones", 1.0), ("twos", 2.0)):
    grad_output = torch.full_like(x, factor)
    right = triton_gelu_backward(grad_output, x)
    wrong = triton_gelu_backward_no_chain_rule(grad_output, x)
    print(f"{name}, right:", [round(v, 4) for v in right.tolist()])
    print(f"{name}, wrong:", [round(v, 4) for v in wrong.tolist()])
    print(f"{name}, wrong / right:", (wrong / right).tolist())
