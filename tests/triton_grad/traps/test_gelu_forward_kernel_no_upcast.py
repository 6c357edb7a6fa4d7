"""Caught by float16 and bfloat16, missed by float32 and float64."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.oracle import gelu_oracle
from triton_grad.traps.gelu_forward_kernel_no_upcast import (
    triton_gelu_forward_no_upcast,
)

AssertRight = Callable[[Tensor, Tensor], None]
Draw = Callable[..., Tensor]


def test_float16_is_refused(draw: Draw) -> None:
    x = draw(8, seed=1, dtype=torch.float16)
    with pytest.raises(Exception, match="Expected dtype") as caught:
        triton_gelu_forward_no_upcast(x)
    expected = "InterpreterError" if DEVICE == "cpu" else "CompilationError"
    assert type(caught.value).__name__ == expected
    cause = caught.value.__cause__
    assert isinstance(cause, ValueError)
    assert str(cause) == "Expected dtype ['fp32', 'fp64'] but got fp16"


def test_bfloat16_is_refused(draw: Draw) -> None:
    x = draw(8, seed=1, dtype=torch.bfloat16)
    with pytest.raises(Exception, match="bf16"):
        triton_gelu_forward_no_upcast(x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_wide_dtypes_miss_it(
    dtype: torch.dtype, draw: Draw, assert_right: AssertRight
) -> None:
    x = draw(100, seed=1, dtype=dtype)
    assert_right(triton_gelu_forward_no_upcast(x), gelu_oracle(x))
