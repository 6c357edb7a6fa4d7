"""The slope at three points, by the standard library's erfc alone."""

import math

import pytest
import torch

from triton_grad.device import DEVICE
from triton_grad.ops.gelu_erf import triton_gelu_backward
from triton_grad.oracle import gelu_backward_formula, gelu_backward_oracle


def slope(x: float) -> float:
    cdf = math.erfc(-x / math.sqrt(2.0)) / 2
    return cdf + x * math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


@pytest.mark.parametrize(
    ("x", "digits"), [(-1.0, -0.0833), (0.5, 0.8675), (2.0, 1.0852)]
)
def test_four_ways_to_one_slope(x: float, digits: float) -> None:
    at, ones = torch.tensor([x]).to(DEVICE), torch.ones(1, device=DEVICE)
    assert slope(x) == pytest.approx(digits, abs=5e-5)
    for way in (
        triton_gelu_backward,
        gelu_backward_formula,
        gelu_backward_oracle,
    ):
        assert way(ones, at).item() == pytest.approx(slope(x), abs=2e-7)
