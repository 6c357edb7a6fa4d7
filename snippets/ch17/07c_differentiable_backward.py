"""A backward that is itself a differentiable op: the penalty is there."""

# /// script
# [tool.bookpress.loose]
# "max abs diff" = 1.0
# ///

from collections.abc import Callable

import torch
from torch.autograd import gradcheck, gradgradcheck
from torch.nn.functional import gelu as torch_gelu

from triton_grad.device import DEVICE
from triton_grad.ops.gelu import gelu
from triton_grad.traps.triton_gelu_raw_backward import TritonGELURawBackward

Op = Callable[[torch.Tensor], torch.Tensor]


def with_penalty(op: Op, x: torch.Tensor) -> torch.Tensor:
    """Differentiate sum(z) + sum((dz/dx)**2)."""
    x = x.clone().requires_grad_()
    z = op(x)
    (slope,) = torch.autograd.grad(z.sum(), x, create_graph=True)
    loss = z.sum() + slope.square().sum()
    return torch.autograd.grad(loss, x)[0]


torch.manual_seed(3)
x = torch.randn(6).to(DEVICE)
truth, got = with_penalty(torch_gelu, x.double()), with_penalty(gelu, x)
print("gradient, PyTorch:", [round(v, 4) for v in truth.tolist()])
print("gradient, library:", [round(v, 4) for v in got.tolist()])
print("max abs diff:", (got - truth).abs().max().item())

x64 = x.double().requires_grad_()
ops = {"raw kernel": TritonGELURawBackward.apply, "library": gelu}
for name, op in ops.items():
    for check in (gradcheck, gradgradcheck):
        passed = check(op, (x64,), raise_exception=False)
        print(f"{check.__name__}, {name}:", passed)
