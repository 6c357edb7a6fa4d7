"""1 + erf loses the left tail; the library's formula keeps it."""

import pytest
import torch
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.ops.gelu import gelu
from triton_grad.ops.gelu_erf import triton_gelu_forward
from triton_grad.oracle import gelu_oracle


def off(y: Tensor, x: Tensor) -> Tensor:
    """The relative error of each element."""
    return (y.double() / gelu_oracle(x) - 1.0).abs()


@pytest.fixture
def tail() -> Tensor:
    return torch.linspace(-12.5, -6.0, 131).to(DEVICE)


def test_by_erf_no_digit_is_left(tail: Tensor) -> None:
    assert (off(triton_gelu_forward(tail), tail) > 0.5).all()


def test_by_the_tail_all_digits_are_there(tail: Tensor) -> None:
    assert (off(gelu(tail), tail) < 1e-6).all()


def test_to_the_right_there_is_nothing_to_choose() -> None:
    x = torch.linspace(0.0, 8.0, 81).to(DEVICE)[1:]
    for op in (triton_gelu_forward, gelu):
        assert (off(op(x), x) < 1e-6).all()


def test_minus_infinity() -> None:
    x = torch.tensor([-torch.inf]).to(DEVICE)
    assert triton_gelu_forward(x).isnan().all()
    assert gelu(x).tolist() == [0.0]
