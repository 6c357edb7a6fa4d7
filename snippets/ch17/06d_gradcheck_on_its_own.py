"""An op that writes into grad_output, tested alone: what can find it."""

from collections.abc import Callable

import torch
from torch.autograd import gradcheck

from triton_grad.device import DEVICE
from triton_grad.ops.gelu import gelu
from triton_grad.traps.triton_gelu_overwrites_grad_output import (
    TritonGELUOverwritesGradOutput,
)

Op = Callable[[torch.Tensor], torch.Tensor]


def check(op: Op, x: torch.Tensor, fast_mode: bool) -> str:
    """Return what gradcheck says, its error cut short."""
    try:
        return f"{gradcheck(op, (x,), fast_mode=fast_mode)}"
    except RuntimeError as error:
        return f"{type(error).__name__}: {str(error).split(',')[0]}"


torch.manual_seed(3)
x = torch.randn(6, dtype=torch.float64).to(DEVICE).requires_grad_()
ramp = torch.linspace(1, 2, 6, dtype=torch.float64).to(DEVICE)

ops = {"reusing": TritonGELUOverwritesGradOutput.apply, "library": gelu}
for name, op in ops.items():
    print(f"{name}, gradcheck:", check(op, x, fast_mode=False))
    print(f"{name}, gradcheck, fast mode:", check(op, x, fast_mode=True))
    grad_output = ramp.clone()
    op(x).backward(grad_output)
    print(f"{name}, left as it was:", torch.equal(grad_output, ramp))
