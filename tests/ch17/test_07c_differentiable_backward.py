"""The library's ops are differentiable twice, checked in fp64."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

from triton_grad.ops.gelu import gelu
from triton_grad.ops.square import square
from triton_grad.oracle import normal_pdf_oracle
from triton_grad.traps.triton_gelu_raw_backward import TritonGELURawBackward

Op = Callable[..., Tensor]


@pytest.fixture
def x64(x: Tensor) -> Tensor:
    """Few elements: finite differences launch a kernel for each."""
    return x.detach()[:4].double().requires_grad_()


@pytest.mark.parametrize("op", [gelu, square])
def test_both_orders(op: Op, x64: Tensor) -> None:
    assert gradcheck(op, (x64,))
    assert gradgradcheck(op, (x64,))


def test_gradcheck_cannot_tell_the_trap(x64: Tensor) -> None:
    raw = TritonGELURawBackward.apply
    assert gradcheck(raw, (x64,))
    assert not gradgradcheck(raw, (x64,), raise_exception=False)


def test_the_second_derivative_is_the_formula(x64: Tensor) -> None:
    (first,) = torch.autograd.grad(gelu(x64).sum(), x64, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x64)
    leaf = x64.detach()
    truth = (2 - leaf**2) * normal_pdf_oracle(leaf)
    torch.testing.assert_close(second, truth, rtol=1e-12, atol=1e-14)
