"""GELU as chapter 16 tells it: its figures, and where it falls short."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.ops.gelu import gelu_forward_op
from triton_grad.ops.gelu_erf import triton_gelu_backward, triton_gelu_forward
from triton_grad.oracle import (
    gelu_backward_formula,
    gelu_backward_oracle,
    gelu_oracle,
)

Draw = Callable[..., Tensor]


def test_the_gradient_at_three_points() -> None:
    x = torch.tensor([-1.0, 0.5, 2.0], device=DEVICE)
    dx = triton_gelu_backward(torch.ones_like(x), x)
    expected = torch.tensor([-0.0833, 0.8675, 1.0852], device=DEVICE)
    torch.testing.assert_close(dx, expected, rtol=0, atol=5e-5)


def test_an_upstream_gradient_of_two_doubles_it() -> None:
    x = torch.tensor([-1.0, 0.5, 2.0], device=DEVICE)
    once = triton_gelu_backward(torch.ones_like(x), x)
    twice = triton_gelu_backward(torch.full_like(x, 2.0), x)
    assert torch.equal(twice, 2.0 * once)


def test_agrees_with_the_plain_formula(draw: Draw) -> None:
    x, grad_output = draw(5000, seed=1), draw(5000, seed=2)
    ours = triton_gelu_backward(grad_output, x)
    plain = gelu_backward_formula(grad_output, x)
    torch.testing.assert_close(ours, plain, rtol=2e-6, atol=2e-6)


def test_the_loss_of_16_bit_storage() -> None:
    torch.manual_seed(2)
    x, grad_output = 3.0 * torch.randn(2048), torch.randn(2048)
    x, grad_output = x.to(DEVICE), grad_output.to(DEVICE)
    truth = gelu_backward_oracle(grad_output, x)

    def worst(dtype: torch.dtype) -> float:
        stored = triton_gelu_backward(
            grad_output.to(dtype), x.to(dtype), BLOCK=512
        )
        return (stored.double() - truth).abs().max().item()

    assert 1e-7 < worst(torch.float32) < 1e-6
    assert worst(torch.float16) == pytest.approx(0.0015156170, rel=1e-6)


def test_its_tail_is_lost_and_the_librarys_is_not() -> None:
    x = torch.tensor([-5.5], device=DEVICE)
    truth = gelu_oracle(x)
    by_erf = (triton_gelu_forward(x) / truth - 1.0).abs().item()
    by_tail = (gelu_forward_op(x) / truth - 1.0).abs().item()
    assert by_erf > 0.1
    assert by_tail < 1e-6


def test_at_minus_infinity_it_is_nan_and_the_librarys_is_not() -> None:
    x = torch.tensor([-torch.inf], device=DEVICE)
    assert triton_gelu_forward(x).isnan().all()
    assert gelu_forward_op(x).item() == 0.0
