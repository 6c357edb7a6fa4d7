"""next_functions has one entry for each tensor argument, and no other."""

from typing import Any

import torch

from triton_grad.device import DEVICE
from triton_grad.ops.square import square


class ScaledSum(torch.autograd.Function):
    """scale * a + b: two tensors, with a plain number between them."""

    @staticmethod
    def forward(
        ctx: Any, a: torch.Tensor, scale: float, b: torch.Tensor
    ) -> torch.Tensor:
        ctx.scale = scale
        return scale * a + b

    @staticmethod
    def backward(
        ctx: Any, *grad_outputs: torch.Tensor
    ) -> tuple[torch.Tensor, None, torch.Tensor]:
        (grad_output,) = grad_outputs
        return ctx.scale * grad_output, None, grad_output


x = torch.ones(6, device=DEVICE, requires_grad=True)
constant = torch.ones(6, device=DEVICE)
arguments = (square(x), 3.0, constant)
y = ScaledSum.apply(*arguments)
assert y is not None

entries = y.grad_fn.next_functions
print("arguments of forward:", len(arguments))
print("entries:", len(entries))
for position, (node, _) in enumerate(entries):
    print(f"entry {position}:", type(node).__name__ if node else None)
