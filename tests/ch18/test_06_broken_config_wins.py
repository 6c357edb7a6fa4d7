"""A config that leaves elements out is right until another did not run."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.oracle import gelu_oracle

Make = Callable[..., Any]
Draw = Callable[[int], tuple[Tensor, Tensor]]


def right(x: Tensor, y: Tensor) -> bool:
    return torch.allclose(y.double(), gelu_oracle(x), rtol=2e-6, atol=2e-6)


def fixed_grid(tuned: Any, x: Tensor, y: Tensor) -> None:
    """Right for 128 elements a program, and for no fewer."""
    tuned[(-(-x.numel() // 128),)](x, y, x.numel())


def test_it_is_right_in_the_first_call_only(
    timer: Make, tuner: Make, draw: Draw
) -> None:
    tuned = tuner([128, 32], do_bench=timer(4.0, 1.0))
    x, y = draw(512)
    fixed_grid(tuned, x, y)
    assert right(x, y)
    y.fill_(torch.nan)
    fixed_grid(tuned, x, y)
    assert y.isnan().sum() == 512 - 4 * 32


def test_tried_alone_it_is_never_right(tuner: Make, draw: Draw) -> None:
    x, y = draw(512)
    fixed_grid(tuner([32]), x, y)
    assert not right(x, y)
    fixed_grid(tuner([128]), x, y)
    assert right(x, y)


def test_with_a_grid_of_its_own_it_is_right(
    timer: Make, tuner: Make, launch: Make, draw: Draw
) -> None:
    tuned = tuner([128, 32], do_bench=timer(4.0, 1.0))
    x, y = draw(512)
    for _ in range(2):
        y.fill_(torch.nan)
        launch(tuned, x, y)
        assert tuned.best_config.kwargs == {"BLOCK": 32}
        assert right(x, y)


@pytest.mark.gpu
@pytest.mark.skipif(DEVICE == "cpu", reason="needs Triton's own timer")
def test_triton_s_own_timer_chooses_it(tuner: Make, draw: Draw) -> None:
    tuned = tuner([128, 32])
    x, y = draw(2**24)
    fixed_grid(tuned, x, y)
    assert tuned.best_config.kwargs == {"BLOCK": 32}
    assert right(x, y)
