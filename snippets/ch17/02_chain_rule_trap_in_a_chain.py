"""The kernel without the chain rule, in the chain w = 2z + 1: half."""

# /// script
# [tool.bookpress]
# fails = "wrong number"
# ///

from collections.abc import Callable

import torch

from triton_grad.device import DEVICE
from triton_grad.ops.gelu import gelu
from triton_grad.traps.gelu_backward_kernel_no_chain_rule import (
    TritonGELUNoChainRule,
)

Op = Callable[[torch.Tensor], torch.Tensor]


def gradient(op: Op, rest_of_the_network: Op) -> torch.Tensor:
    """Return x.grad after the op and what follows it."""
    torch.manual_seed(3)
    x = torch.randn(6).to(DEVICE).requires_grad_()
    rest_of_the_network(op(x)).backward()
    assert x.grad is not None
    return x.grad


for name, rest in (
    ("z.sum()", lambda z: z.sum()),
    ("(2z + 1).sum()", lambda z: (2 * z + 1).sum()),
):
    right = gradient(gelu, rest)
    wrong = gradient(TritonGELUNoChainRule.apply, rest)
    print(f"{name}, right:", [round(v, 4) for v in right.tolist()])
    print(f"{name}, wrong kernel:", [round(v, 4) for v in wrong.tolist()])
    print(f"{name}, wrong / right:", (wrong / right).mean().item())
