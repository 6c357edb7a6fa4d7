"""A tuner that is new tries all configs; one that is not tries none."""

import time
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from triton_grad.device import DEVICE

Make = Callable[..., Any]
Draw = Callable[[int], tuple[Tensor, Tensor]]


def test_a_new_tuner_remembers_nothing_of_another(
    timer: Make, tuner: Make, launch: Make, draw: Draw
) -> None:
    timed = timer()
    x, y = draw(77)
    for trials in (3, 6):
        tuned = tuner([32, 64, 128], do_bench=timed)
        for _ in range(4):
            launch(tuned, x, y)
        assert len(timed.trials) == trials


@pytest.mark.gpu
@pytest.mark.skipif(DEVICE == "cpu", reason="times a GPU")
def test_a_first_call_lasts_as_long_as_hundreds(
    tuner: Make, launch: Make, draw: Draw
) -> None:
    tuned = tuner([256, 1024])
    x, y = draw(2**20)

    def seconds() -> float:
        start = time.perf_counter()
        launch(tuned, x, y)
        torch.cuda.synchronize()
        return time.perf_counter() - start

    first = seconds()
    later = min(seconds() for _ in range(10))
    assert tuned.bench_time > 0.1
    assert first > 300 * later
