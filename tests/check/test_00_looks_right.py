"""Rows that fill their block hide what is wrong with the first form."""

import pytest
import torch

from triton_grad.device import DEVICE
from triton_grad.examples.log_softmax_draft import draft_log_softmax


def largest_error(cols: int) -> float:
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(7, cols, generator=generator)
    truth = torch.log_softmax(x.double(), -1)
    return float(
        (draft_log_softmax(x.to(DEVICE), -1).cpu() - truth).abs().max()
    )


@pytest.mark.parametrize("cols", [1, 2, 4, 64, 512])
def test_powers_of_two_are_right(cols: int) -> None:
    assert largest_error(cols) < 1e-5


@pytest.mark.parametrize("cols", [3, 5, 63, 65, 500])
def test_other_lengths_are_not(cols: int) -> None:
    assert largest_error(cols) > 1e-3
