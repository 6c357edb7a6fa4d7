"""The kernel without the chain rule ignores its cotangent."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from triton_grad.ops.gelu_erf import triton_gelu_backward
from triton_grad.traps.gelu_backward_kernel_no_chain_rule import (
    triton_gelu_backward_no_chain_rule,
)

Pair = Callable[[int], tuple[Tensor, Tensor]]


# Powers of two scale a float without rounding, so equality is exact.
@pytest.mark.parametrize("factor", [1.0, 2.0, 0.25])
def test_it_is_off_by_the_cotangent(pair: Pair, factor: float) -> None:
    x, _ = pair(3000)
    cotangent = torch.full_like(x, factor)
    right = triton_gelu_backward(cotangent, x)
    wrong = triton_gelu_backward_no_chain_rule(cotangent, x)
    assert torch.equal(factor * wrong, right)


def test_a_random_cotangent_shows_it(pair: Pair) -> None:
    x, grad_output = pair(3000)
    right = triton_gelu_backward(grad_output, x)
    wrong = triton_gelu_backward_no_chain_rule(grad_output, x)
    assert (right - wrong).abs().max() > 1
