"""The backward kernel's curve is the slope of the forward kernel's."""

import math

import torch

from triton_grad.device import DEVICE
from triton_grad.ops.gelu_erf import triton_gelu_backward, triton_gelu_forward


def test_the_slope_is_the_forwards_difference_quotient() -> None:
    x = torch.linspace(-4, 4, 161, dtype=torch.float64).to(DEVICE)
    step = 1e-5
    rise = triton_gelu_forward(x + step) - triton_gelu_forward(x - step)
    slope = triton_gelu_backward(torch.ones_like(x), x)
    torch.testing.assert_close(slope, rise / (2 * step), rtol=1e-8, atol=1e-8)


def test_gelu_dips_where_the_slope_changes_sign() -> None:
    x = torch.linspace(-1.5, 0.0, 15001, dtype=torch.float64).to(DEVICE)
    dip = x[triton_gelu_forward(x).argmin()]
    slope = triton_gelu_backward(torch.ones_like(x), x)
    assert (slope[x < dip - 1e-3] < 0).all()
    assert (slope[x > dip + 1e-3] > 0).all()


def test_the_slope_passes_one_and_is_greatest_at_the_root_of_two() -> None:
    x = torch.tensor([1.0, math.sqrt(2.0), 2.0, 6.0]).to(DEVICE)
    before, peak, after, far = triton_gelu_backward(
        torch.ones_like(x), x
    ).tolist()
    assert peak > max(before, after)
    assert min(before, after) > 1
    assert abs(far - 1) < 1e-6


def test_gelu_stays_below_the_line_that_it_comes_closer_to() -> None:
    x = torch.linspace(0.1, 4.0, 40, dtype=torch.float64).to(DEVICE)
    gap = x - triton_gelu_forward(x)
    assert (gap > 0).all()
    assert (gap[x > 1].diff() < 0).all()
