"""What was chosen for a small n is launched for a large one."""

from collections.abc import Callable
from typing import Any

import pytest
from torch import Tensor

from triton_grad.device import DEVICE

Make = Callable[..., Any]
Draw = Callable[[int], tuple[Tensor, Tensor]]

# Of BLOCK 32 and 64: the first is better for a small n, the second for a
# large one.
PRICES = (1.0, 2.0, 2.0, 1.0)


@pytest.mark.parametrize(("key", "chosen"), [([], 32), (["n"], 64)])
def test_the_small_ones_choice_is_used(
    timer: Make,
    tuner: Make,
    launch: Make,
    draw: Draw,
    key: list[str],
    chosen: int,
) -> None:
    tuned = tuner([32, 64], key=key, do_bench=timer(*PRICES))
    launch(tuned, *draw(70))
    x, y = draw(700)
    launch(tuned, x, y)
    assert tuned.best_config.kwargs == {"BLOCK": chosen}
    assert y.isfinite().all()


@pytest.mark.gpu
@pytest.mark.skipif(DEVICE == "cpu", reason="times a GPU")
def test_a_gpu_times_nothing_for_the_large_one(
    tuner: Make, launch: Make, draw: Draw
) -> None:
    tuned = tuner([256, 1024], key=[])
    launch(tuned, *draw(2**10))
    before = tuned.configs_timings
    launch(tuned, *draw(2**26))
    assert tuned.configs_timings is before
