"""Which losses hide a missing chain rule: those that hand down ones."""

# /// script
# requires-python = ">=3.11"
# dependencies = ["torch", "triton", "numpy"]
# [tool.bookpress]
# fails = "wrong number"
# atol = 5e-7
# ///

import torch

from triton_grad.device import DEVICE
from triton_grad.ops.gelu import TritonGELU
from triton_grad.oracle import gelu_backward_oracle
from triton_grad.traps.gelu_backward_kernel_no_chain_rule import (
    TritonGELUNoChainRule,
)

torch.manual_seed(0)
start = torch.randn(1000).to(DEVICE)
weight = torch.randn(1000).to(DEVICE)
losses = {
    "sum": lambda z: z.sum(),
    "mean": lambda z: z.mean(),
    "weighted sum": lambda z: (weight * z).sum(),
    "square": lambda z: (z * z).sum(),
    "twice the sum": lambda z: (2 * z).sum(),
}

for name, loss in losses.items():
    diffs: list[float] = []
    handed_down: list[torch.Tensor] = []
    for op in (TritonGELU, TritonGELUNoChainRule):
        x = start.clone().requires_grad_()
        z = op.apply(x)
        z.register_hook(handed_down.append)
        (grad,) = torch.autograd.grad(loss(z), x)
        truth = gelu_backward_oracle(handed_down[-1], start)
        diffs.append((grad - truth).abs().max().item())
    least, most = (v.item() for v in torch.aminmax(handed_down[0]))
    print(f"{name}, handed down: {least:.3f} to {most:.3f}")
    print(f"{name}, right kernel:", diffs[0])
    print(f"{name}, wrong kernel:", diffs[1])
