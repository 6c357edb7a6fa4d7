"""Without the chain rule the result does not depend on what follows."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from triton_grad.ops.gelu import gelu
from triton_grad.oracle import gelu_backward_oracle
from triton_grad.traps.gelu_backward_kernel_no_chain_rule import (
    TritonGELUNoChainRule,
)

Op = Callable[[Tensor], Tensor]


def gradient(op: Op, x: Tensor, slope: float) -> Tensor:
    return torch.autograd.grad((slope * op(x) + 1).sum(), x)[0]


@pytest.mark.parametrize("slope", [1.0, 2.0, -8.0])
def test_the_wrong_kernel_is_off_by_the_slope_after_it(
    x: Tensor, slope: float
) -> None:
    right = gradient(gelu, x, slope)
    wrong = gradient(TritonGELUNoChainRule.apply, x, slope)
    torch.testing.assert_close(slope * wrong, right, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("slope", [1.0, 2.0, -8.0])
def test_the_right_kernel_is_not(
    x: Tensor,
    assert_true: Callable[[Tensor | None, Tensor], None],
    slope: float,
) -> None:
    upstream = torch.full_like(x, slope)
    truth = gelu_backward_oracle(upstream, x.detach())
    assert_true(gradient(gelu, x, slope) / slope, truth / slope)
