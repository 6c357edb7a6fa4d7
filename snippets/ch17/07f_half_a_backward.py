"""gradgradcheck skips a gradient that cannot be differentiated."""

# /// script
# [tool.bookpress]
# fails = "wrong number"
# ///

from typing import Any

import torch
from torch.autograd import gradgradcheck
from torch.nn.functional import gelu as torch_gelu

from triton_grad.device import DEVICE
from triton_grad.ops.gelu import TritonGELUGrad, gelu_second_derivative
from triton_grad.ops.gelu_erf import triton_gelu_backward


class HalfRawGrad(torch.autograd.Function):
    """TritonGELUGrad, with a launch where that calls itself."""

    @staticmethod
    def forward(ctx: Any, u: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(u, x)
        return triton_gelu_backward(u, x)

    @staticmethod
    def backward(
        ctx: Any, *grad_outputs: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        (v,) = grad_outputs
        u, x = ctx.saved_tensors
        return triton_gelu_backward(v, x), v * u * gelu_second_derivative(x)


def pytorch(u: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The same function by PyTorch's own GELU."""
    return torch.autograd.grad(torch_gelu(x), x, u, create_graph=True)[0]


torch.manual_seed(3)
x = torch.randn(6, dtype=torch.float64).to(DEVICE).requires_grad_()
u = torch.randn(6, dtype=torch.float64).to(DEVICE).requires_grad_()

ops = {
    "PyTorch": pytorch,
    "library": TritonGELUGrad.apply,
    "half raw": HalfRawGrad.apply,
}
for name, op in ops.items():
    grads = torch.autograd.grad(op(u, x).sum(), (u, x), create_graph=True)
    (again,) = torch.autograd.grad(torch.stack(grads).sum(), x)
    print(f"{name}, gradgradcheck:", gradgradcheck(op, (u, x)))
    print(f"{name}, requires grad:", [grad.requires_grad for grad in grads])
    print(f"{name}, again:", [round(v, 4) for v in again.tolist()])
