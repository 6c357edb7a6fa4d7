"""Among equal times the first wins, and the smallest noise another."""

from collections.abc import Callable
from typing import Any

import pytest
from torch import Tensor

from triton_grad.device import DEVICE

Make = Callable[..., Any]
Draw = Callable[[int], tuple[Tensor, Tensor]]


@pytest.mark.parametrize(
    ("prices", "best"),
    [((1.0, 1.0), 32), ((1.0, 1.0 - 1e-9), 64), ((1.0, 1.0 + 1e-9), 32)],
)
def test_a_billionth_decides(
    timer: Make,
    tuner: Make,
    launch: Make,
    draw: Draw,
    prices: tuple[float, ...],
    best: int,
) -> None:
    tuned = tuner([32, 64], do_bench=timer(*prices))
    launch(tuned, *draw(77))
    assert tuned.best_config.kwargs == {"BLOCK": best}


@pytest.mark.gpu
@pytest.mark.skipif(DEVICE == "cpu", reason="times a GPU")
def test_only_a_large_kernel_takes_longer_than_its_launch(
    tuner: Make, launch: Make, draw: Draw
) -> None:
    ratio = {}
    for n in (2**10, 2**26):
        tuned = tuner([32, 1024])
        launch(tuned, *draw(n))
        fast, slow = sorted(it[0] for it in tuned.configs_timings.values())
        ratio[n] = slow / fast
    # 2**21 programs of 32 elements take several times as long.
    assert ratio[2**26] > 2
    assert ratio[2**10] < 1.5
