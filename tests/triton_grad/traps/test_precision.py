"""Digits and NaNs that get lost."""

from collections.abc import Callable

import torch
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.oracle import gelu_oracle
from triton_grad.testing.promises import ulp_error
from triton_grad.traps.gelu_forward_kernel_one_plus_erf import (
    TritonGELUOnePlusErf,
)
from triton_grad.traps.relu_forward_kernel_drops_nan import (
    TritonReLUDropsNaN,
)
from triton_grad.traps.row_mean_square_kernel_16_bit_accumulator import (
    TritonRowMeanSquare16BitAccumulator,
)

Draw = Callable[..., Tensor]


def test_the_tail_is_rounding(draw: Draw) -> None:
    x = torch.tensor([-6.5, -5.0, -4.0, -1.0, 1.0]).to(DEVICE)
    truth = gelu_oracle(x)
    relative = (TritonGELUOnePlusErf.apply(x).double() / truth - 1.0).abs()
    assert relative[0] == 1.0
    assert relative[1] > 1e-2
    assert relative[2] > 1e-4
    assert (relative[3:] < 1e-6).all()


def test_a_nan_becomes_zero() -> None:
    x = torch.tensor([float("nan"), -1.0, 2.0]).to(DEVICE)
    assert TritonReLUDropsNaN.apply(x).tolist() == [0.0, 0.0, 2.0]
    assert torch.relu(x)[0].isnan()


def test_a_sum_of_16_bits_loses_units(draw: Draw) -> None:
    """A rounding for each tile of 16 columns; the result alone costs 0.5."""
    x = draw(4, 1000, seed=1)
    wrong = TritonRowMeanSquare16BitAccumulator.apply(x.half())
    truth = x.half().double().square().mean(1)
    assert ulp_error(wrong, truth, torch.float16).max() > 2.0
    right = TritonRowMeanSquare16BitAccumulator.apply(x[:1])
    torch.testing.assert_close(right, x[:1].square().mean(1))
