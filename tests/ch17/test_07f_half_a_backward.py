"""A gradient that is not recorded is one that gradgradcheck leaves out."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import gradgradcheck

from triton_grad.ops.gelu import TritonGELUGrad
from triton_grad.ops.square import TritonSquareGrad, square_backward_op
from triton_grad.oracle import normal_pdf_oracle


class HalfRawSquareGrad(torch.autograd.Function):
    """u 2x, whose gradient by u is a bare launch."""

    @staticmethod
    def forward(ctx: Any, u: Tensor, x: Tensor) -> Tensor:
        ctx.save_for_backward(u, x)
        return square_backward_op(u, x)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, Tensor]:
        (v,) = grad_outputs
        u, x = ctx.saved_tensors
        return square_backward_op(v, x), 2 * u * v


def gradients(op: Any, u: Tensor, x: Tensor) -> tuple[Tensor, ...]:
    return torch.autograd.grad(
        op.apply(u, x).sum(), (u, x), create_graph=True
    )


def pair(x: Tensor) -> tuple[Tensor, Tensor]:
    """u and x, few and in fp64: finite differences take many launches."""
    few = x.detach()[:4].double()
    return few.flip(0).requires_grad_(), few.clone().requires_grad_()


def test_it_passes_although_half_is_missing(x: Tensor) -> None:
    u, few = pair(x)
    assert gradgradcheck(HalfRawSquareGrad.apply, (u, few))
    for_u, for_x = gradients(HalfRawSquareGrad, u, few)
    assert not for_u.requires_grad
    assert for_x.requires_grad


def test_what_is_missing_shows_in_the_next_derivative(x: Tensor) -> None:
    # By u it is 2x, by x it is 2u; the sum by x again is 2, not 0.
    u, few = pair(x)
    for_u, for_x = gradients(TritonSquareGrad, u, few)
    (right,) = torch.autograd.grad((for_u + for_x).sum(), few)
    assert torch.equal(right, torch.full_like(few, 2.0))
    for_u, for_x = gradients(HalfRawSquareGrad, u, few)
    (wrong,) = torch.autograd.grad(
        (for_u + for_x).sum(), few, materialize_grads=True
    )
    assert not wrong.any()


def test_the_library_records_both_of_gelu(x: Tensor) -> None:
    u, few = pair(x)
    for_u, for_x = gradients(TritonGELUGrad, u, few)
    (again,) = torch.autograd.grad((for_u + for_x).sum(), few)
    # g' + u g'', with g' = (2 - x²) φ and g'' = (x³ - 4x) φ.
    point = few.detach()
    pdf = normal_pdf_oracle(point)
    truth = (2 - point**2) * pdf + u.detach() * (point**3 - 4 * point) * pdf
    torch.testing.assert_close(again, truth, rtol=1e-12, atol=1e-13)
