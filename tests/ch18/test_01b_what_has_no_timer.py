"""One config needs no timer; several need one, and a GPU has it."""

from collections.abc import Callable
from typing import Any

import pytest
from torch import Tensor

from triton_grad.device import DEVICE

Make = Callable[..., Any]
Draw = Callable[[int], tuple[Tensor, Tensor]]


def test_one_config_is_launched_without_a_trial(
    timer: Make, tuner: Make, launch: Make, draw: Draw
) -> None:
    timed = timer()
    x, y = draw(77)
    launch(tuner([32], do_bench=timed), x, y)
    assert not timed.trials
    assert y.isfinite().all()


@pytest.mark.skipif(DEVICE != "cpu", reason="a GPU has a timer")
def test_several_raise_before_anything_runs(
    tuner: Make, launch: Make, draw: Draw
) -> None:
    x, y = draw(77)
    with pytest.raises(RuntimeError, match="0 active drivers"):
        launch(tuner([32, 64]), x, y)
    assert y.isnan().all()


@pytest.mark.gpu
@pytest.mark.skipif(DEVICE == "cpu", reason="needs a timer")
def test_a_gpu_chooses(tuner: Make, launch: Make, draw: Draw) -> None:
    x, y = draw(77)
    tuned = tuner([32, 64])
    launch(tuned, x, y)
    assert len(tuned.configs_timings) == 2
    assert y.isfinite().all()
