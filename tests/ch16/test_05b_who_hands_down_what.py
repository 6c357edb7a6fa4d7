"""Ordinary lines hand down gradients in any order, and gelu is right."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.ops.gelu import gelu

Op = Callable[[Tensor], Tensor]


def weighted(z: Tensor) -> Tensor:
    steps = torch.linspace(-1, 1, z.numel()).to(z.device, z.dtype)
    return (steps.reshape(z.shape) * z).sum()


LINES: dict[str, tuple[Op, bool]] = {
    "sum": (lambda z: z.sum(), False),
    "sum over one axis": (lambda z: weighted(z.sum(0)), False),
    "heads": (lambda z: weighted(z.permute(1, 0, 2).flatten(1)), False),
    "cat": (lambda z: weighted(torch.cat([z, z.detach()], 2)), False),
    "stack": (lambda z: weighted(torch.stack([z, z.detach()], -1)), False),
    "mean": (lambda z: z.mean(), True),
    "weighted sum": (weighted, True),
    "every second": (lambda z: weighted(z[..., ::2]), True),
}


def gradient(op: Op, rest: Op) -> tuple[Tensor, bool]:
    generator = torch.Generator().manual_seed(8)
    x = torch.randn(2, 3, 4, generator=generator).to(DEVICE)
    x.requires_grad_()
    z = op(x)
    contiguous: list[bool] = []
    z.register_hook(lambda grad: contiguous.append(grad.is_contiguous()))
    (grad,) = torch.autograd.grad(rest(z), x)
    return grad.double(), contiguous[0]


@pytest.mark.parametrize("name", LINES)
def test_the_layout_and_the_gradient(name: str) -> None:
    rest, in_order = LINES[name]
    ours, contiguous = gradient(gelu, rest)
    truth, _ = gradient(lambda x: torch.nn.functional.gelu(x.double()), rest)
    assert contiguous == in_order
    torch.testing.assert_close(ours, truth, rtol=1e-6, atol=1e-6)
