"""A gradient penalty counts with the library's op, not with the trap."""

from collections.abc import Callable

import torch
from torch import Tensor

from triton_grad.ops.gelu import gelu
from triton_grad.oracle import gelu_backward_oracle, normal_pdf_oracle
from triton_grad.traps.triton_gelu_raw_backward import TritonGELURawBackward

Op = Callable[[Tensor], Tensor]


def slope_of(op: Op, x: Tensor) -> tuple[Tensor, Tensor]:
    """z, and dz/dx, meant to be differentiated."""
    z = op(x)
    (slope,) = torch.autograd.grad(z.sum(), x, create_graph=True)
    return z, slope


def penalised(op: Op, x: Tensor, strength: float) -> Tensor:
    z, slope = slope_of(op, x)
    loss = z.sum() + strength * slope.square().sum()
    return torch.autograd.grad(loss, x)[0]


def true_gradient(x: Tensor, strength: float) -> Tensor:
    """g + 2 s g g', with g' = (2 - x²) φ."""
    g = gelu_backward_oracle(torch.ones_like(x), x)
    curvature = (2 - x.double() ** 2) * normal_pdf_oracle(x)
    return g + 2 * strength * g * curvature


def test_the_raw_kernel_drops_the_penalty(x: Tensor) -> None:
    raw = TritonGELURawBackward.apply
    assert torch.equal(penalised(raw, x, 0.0), penalised(raw, x, 100.0))


def test_its_slope_is_right_but_cannot_be_differentiated(
    x: Tensor, assert_true: Callable[[Tensor | None, Tensor], None]
) -> None:
    _, slope = slope_of(TritonGELURawBackward.apply, x)
    assert_true(slope, true_gradient(x.detach(), 0.0))
    assert not slope.requires_grad


def test_the_library_keeps_it(
    x: Tensor, assert_true: Callable[[Tensor | None, Tensor], None]
) -> None:
    _, slope = slope_of(gelu, x)
    assert slope.requires_grad
    for strength in (0.0, 1.0, 3.0):
        truth = true_gradient(x.detach(), strength)
        assert_true(penalised(gelu, x, strength), truth)
