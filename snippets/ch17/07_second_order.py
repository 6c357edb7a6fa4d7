"""A raw kernel in backward: a gradient penalty vanishes without a word."""

# /// script
# [tool.bookpress]
# fails = "wrong number"
# [tool.bookpress.loose]
# "dz/dx, max abs diff" = 1.0
# ///

from collections.abc import Callable

import torch
from torch.nn.functional import gelu as torch_gelu

from triton_grad.device import DEVICE
from triton_grad.traps.triton_gelu_raw_backward import TritonGELURawBackward


def penalised(
    op: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, weight: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Differentiate sum(z) + weight * sum((dz/dx)**2); return dz/dx too."""
    x = x.clone().requires_grad_()
    z = op(x)
    (slope,) = torch.autograd.grad(z.sum(), x, create_graph=True)
    (z.sum() + weight * slope.square().sum()).backward()
    assert x.grad is not None
    return x.grad, slope


torch.manual_seed(3)
x = torch.randn(6).to(DEVICE)
truth, true_slope = penalised(torch_gelu, x.double(), weight=1.0)
raw, slope = penalised(TritonGELURawBackward.apply, x, weight=1.0)
plain, _ = penalised(TritonGELURawBackward.apply, x, weight=0.0)

print("dz/dx, max abs diff:", (slope - true_slope).abs().max().item())
print("dz/dx requires grad, PyTorch:", true_slope.requires_grad)
print("dz/dx requires grad, raw kernel:", slope.requires_grad)
print("x.grad, PyTorch:", [round(v, 4) for v in truth.tolist()])
print("x.grad, raw kernel:", [round(v, 4) for v in raw.tolist()])
print("x.grad, no penalty:", [round(v, 4) for v in plain.tolist()])
