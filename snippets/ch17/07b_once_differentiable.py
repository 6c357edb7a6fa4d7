"""once_differentiable does not always raise: y = x**3, then x * dy/dx."""

# /// script
# [tool.bookpress]
# fails = "wrong number"
# ///

from collections.abc import Callable
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from triton_grad.device import DEVICE

Op = Callable[[torch.Tensor], torch.Tensor]


class OnceCube(torch.autograd.Function):
    """x**3, whose backward says that it is differentiable once."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return 3 * x**2 * grad_output


def second_order(cube: Op, loss: Op, into_grad: bool) -> str:
    """Differentiate x * d(loss)/dx at x = 2, in one of the two ways."""
    x = torch.tensor(2.0, device=DEVICE, requires_grad=True)
    (slope,) = torch.autograd.grad(loss(cube(x)), x, create_graph=True)
    try:
        if into_grad:
            (x * slope).backward()
            return f"{x.grad}"
        return f"{torch.autograd.grad(x * slope, x)[0]}"
    except RuntimeError as error:
        return f"RuntimeError: {error}"


losses: dict[str, Op] = {"y": lambda y: y, "y**2": lambda y: y**2}
for name, loss in losses.items():
    print(f"{name}, truth:", second_order(lambda x: x**3, loss, True))
    print(f"{name}, backward():", second_order(OnceCube.apply, loss, True))
    print(f"{name}, grad(x):", second_order(OnceCube.apply, loss, False))
