"""The same mistake with a PyTorch op: after sum() it is refused."""

# /// script
# [tool.bookpress]
# fails = "wrong number"
# ///

from typing import Any

import torch

from triton_grad.device import DEVICE
from triton_grad.ops.square import square
from triton_grad.oracle import square_backward_oracle


class InPlaceSquare(torch.autograd.Function):
    """The square, whose backward multiplies grad_output in place."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, *grad_outputs: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return grad_outputs[0].mul_(2 * x)


torch.manual_seed(3)
x = torch.randn(6).to(DEVICE)
a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
ramp = torch.linspace(1, 2, 6).to(DEVICE)


def joined() -> torch.Tensor:
    """Add the two branches, the sibling created first."""
    sibling = square(b)
    return InPlaceSquare.apply(a) + sibling


try:
    torch.autograd.grad(joined().sum(), (a, b))
except RuntimeError as error:
    print("sum():", f"RuntimeError: {str(error).split('.')[0]}")

_, got = torch.autograd.grad((ramp * joined()).sum(), (a, b))
diff = (got - square_backward_oracle(ramp, x)).abs().max().item()
print("weighted sum, its sibling, max abs diff:", diff)
