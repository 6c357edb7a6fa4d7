"""Only a loss that hands down ones hides the missing chain rule."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.ops.gelu import gelu
from triton_grad.traps.gelu_backward_kernel_no_chain_rule import (
    TritonGELUNoChainRule,
)

Op = Callable[[Tensor], Tensor]

LOSSES: dict[str, tuple[Op, bool]] = {
    "sum": (lambda z: z.sum(), True),
    "sum of rows": (lambda z: z.sum(0).sum(), True),
    "mean": (lambda z: z.mean(), False),
    "weighted": (lambda z: (torch.linspace(-1, 2, 64) * z).sum(), False),
    "square": (lambda z: z.pow(2).sum(), False),
    "twice": (lambda z: (2 * z).sum(), False),
}


def exact_gelu(x: Tensor) -> Tensor:
    return torch.nn.functional.gelu(x.double())


def gradient(op: Op, loss: Op) -> Tensor:
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(9, 64, generator=generator).requires_grad_()
    z = op(x.to(DEVICE)).cpu()
    return torch.autograd.grad(loss(z), x)[0].double()


@pytest.mark.parametrize("name", LOSSES)
def test_who_hides_and_who_shows(name: str) -> None:
    loss, hides = LOSSES[name]
    truth = gradient(exact_gelu, loss)
    scale = truth.abs().max()
    right = (gradient(gelu, loss) - truth).abs().max() / scale
    wrong = (
        gradient(TritonGELUNoChainRule.apply, loss) - truth
    ).abs().max() / scale
    assert right < 1e-6
    assert (wrong < 1e-6) == hides
    assert hides or wrong > 0.3
