"""A custom op's node has one entry for each of its tensor arguments."""

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


def entries(y: Any) -> list[str | None]:
    """The nodes that the node of y points to."""
    nodes = [node for node, _ in y.grad_fn.next_functions]
    return [type(node).__name__ if node else None for node in nodes]


x = torch.ones(6, device=DEVICE, requires_grad=True)
constant = torch.ones(6, device=DEVICE)
arguments = (square(x), 3.0, constant)
found = entries(ScaledSum.apply(*arguments))
print("arguments of forward:", len(arguments))
print("entries:", len(found))
for position, name in enumerate(found):
    print(f"entry {position}:", name)
print("2 * square(x), entries:", entries(2 * square(x)))
print("square(x) ** 2, entries:", entries(square(x) ** 2))
