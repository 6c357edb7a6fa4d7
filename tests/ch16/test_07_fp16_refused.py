"""Without an upcast 16-bit types are refused; with it they are right."""

import pytest
import torch

from triton_grad.device import DEVICE
from triton_grad.ops.gelu_erf import triton_gelu_forward
from triton_grad.oracle import gelu_oracle
from triton_grad.traps.gelu_forward_kernel_no_upcast import (
    triton_gelu_forward_no_upcast,
)

X = torch.linspace(-4, 4, 100)


def test_the_reason_is_erf() -> None:
    with pytest.raises(Exception) as refused:  # noqa: PT011  device's own type
        triton_gelu_forward_no_upcast(X.half().to(DEVICE))
    error: BaseException = refused.value
    while error.__cause__ is not None:
        error = error.__cause__
    assert isinstance(error, ValueError)
    assert str(error) == "Expected dtype ['fp32', 'fp64'] but got fp16"


def test_bf16_is_refused_too() -> None:
    with pytest.raises(Exception):  # noqa: B017, PT011  device's own type
        triton_gelu_forward_no_upcast(X.bfloat16().to(DEVICE))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_wide_types_need_no_upcast(dtype: torch.dtype) -> None:
    x = X.to(DEVICE, dtype)
    assert torch.equal(
        triton_gelu_forward_no_upcast(x), triton_gelu_forward(x)
    )


# The interpreter cuts bf16 off where it stores it: a whole last place.
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_the_upcast_makes_them_right(dtype: torch.dtype) -> None:
    x = X.to(DEVICE, dtype)
    torch.testing.assert_close(
        triton_gelu_forward(x).double(),
        gelu_oracle(x),
        rtol=torch.finfo(dtype).eps,
        atol=1e-6,
    )
