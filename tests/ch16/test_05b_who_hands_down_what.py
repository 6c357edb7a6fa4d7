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


LINES: dict[str, tuple[Op, str]] = {
    "sum": (lambda z: z.sum(), "stride 0"),
    "sum over one axis": (lambda z: weighted(z.sum(0)), "stride 0"),
    "heads": (
        lambda z: weighted(z.permute(1, 0, 2).flatten(1)),
        "another order",
    ),
    "cat": (lambda z: weighted(torch.cat([z, z.detach()], 2)), "gaps"),
    "stack": (lambda z: weighted(torch.stack([z, z.detach()], -1)), "gaps"),
    "mean": (lambda z: z.mean(), "contiguous"),
    "weighted sum": (weighted, "contiguous"),
    "every second": (lambda z: weighted(z[..., ::2]), "contiguous"),
}


def layout(tensor: Tensor) -> str:
    strides = tensor.stride()
    if tensor.is_contiguous():
        return "contiguous"
    if 0 in strides:
        return "stride 0"
    in_order = list(strides) == sorted(strides, reverse=True)
    return "gaps" if in_order else "another order"


def gradient(op: Op, rest: Op) -> tuple[Tensor, str]:
    generator = torch.Generator().manual_seed(8)
    x = torch.randn(2, 3, 4, generator=generator).to(DEVICE)
    x.requires_grad_()
    z = op(x)
    seen: list[str] = []
    z.register_hook(lambda grad: seen.append(layout(grad)))
    (grad,) = torch.autograd.grad(rest(z), x)
    return grad.double(), seen[0]


@pytest.mark.parametrize("name", LINES)
def test_the_layout_and_the_gradient(name: str) -> None:
    rest, expected = LINES[name]
    ours, handed_down = gradient(gelu, rest)
    truth, _ = gradient(lambda x: torch.nn.functional.gelu(x.double()), rest)
    assert handed_down == expected
    torch.testing.assert_close(ours, truth, rtol=1e-6, atol=1e-6)
