"""slope(x) + slope(-x) = 1, and the extremes lie at ±√2."""

import math

import pytest
import torch

from triton_grad.device import DEVICE
from triton_grad.ops.gelu_erf import triton_gelu_backward


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_two_sides_add_up_to_one(dtype: torch.dtype) -> None:
    x = torch.linspace(0.0, 9.0, 2000, dtype=dtype).to(DEVICE)
    ones = torch.ones_like(x)
    total = triton_gelu_backward(ones, x) + triton_gelu_backward(ones, -x)
    assert (total - 1).abs().max() < 4 * torch.finfo(dtype).eps


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_the_slope_is_flat_at_the_root_of_two(side: float) -> None:
    at = side * math.sqrt(2.0)
    x = torch.tensor([at - 0.01, at, at + 0.01], dtype=torch.float64)
    left, extreme, right = triton_gelu_backward(
        torch.ones_like(x).to(DEVICE), x.to(DEVICE)
    ).tolist()
    assert side * (extreme - left) > 0
    assert side * (extreme - right) > 0
