"""One program holds everything up to 2**20 elements, and no more."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.ops.gelu_erf import triton_gelu_backward
from triton_grad.oracle import gelu_backward_oracle

Pair = Callable[[int], tuple[Tensor, Tensor]]


def test_one_program_is_right(
    pair: Pair, assert_true: Callable[[Tensor, Tensor], None]
) -> None:
    x, grad_output = pair(10000)
    assert_true(
        triton_gelu_backward(grad_output, x, BLOCK=16384),
        gelu_backward_oracle(grad_output, x),
    )


def test_more_lanes_than_a_program_may_have_are_refused() -> None:
    x = torch.zeros(8, device=DEVICE)
    with pytest.raises(Exception, match="1048576") as refused:
        triton_gelu_backward(x, x, BLOCK=2**21)
    error: BaseException = refused.value
    while error.__cause__ is not None:
        error = error.__cause__
    assert isinstance(error, ValueError)
