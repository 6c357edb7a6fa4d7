"""What a timer is given to run has the zeros and the copies in it."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from triton_grad.device import DEVICE

Make = Callable[..., Any]
Draw = Callable[[int], tuple[Tensor, Tensor]]


def test_the_copy_back_is_inside(
    tuner: Make, launch: Make, draw: Draw
) -> None:
    x, y = draw(77)
    y.fill_(5.0)
    seen: list[bool] = []

    def timed(run: Callable[[], None], quantiles: tuple[float, ...]):
        run()
        seen.append(bool((y == 5.0).all()))
        return [1.0] * 3

    launch(tuner([32, 64], do_bench=timed, restore_value=["y_ptr"]), x, y)
    assert seen == [True, True]
    launch(tuner([32, 64], do_bench=timed), x, y.fill_(5.0))
    assert seen == [True, True, False, False]


def test_so_are_the_zeros(
    timer: Make, tuner: Make, draw: Draw, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = draw(77)
    zeroed: list[None] = []
    original = torch.Tensor.zero_

    def zero_(tensor: Tensor) -> Tensor:
        zeroed.append(None)
        return original(tensor)

    monkeypatch.setattr(torch.Tensor, "zero_", zero_)
    tuned = tuner([32, 64], do_bench=timer(runs=3), reset_to_zero=["y_ptr"])
    tuned[lambda meta: (-(-77 // meta["BLOCK"]),)](x, y, 77)
    # Before each of the six runs, and once before the launch.
    assert len(zeroed) == 7


@pytest.mark.gpu
@pytest.mark.skipif(DEVICE == "cpu", reason="times a GPU")
def test_every_trial_takes_longer(
    tuner: Make, launch: Make, draw: Draw
) -> None:
    x, y = draw(2**26)
    plain = tuner([512, 1024])
    restored = tuner([512, 1024], restore_value=["y_ptr"])
    launch(plain, x, y)
    launch(restored, x, y)
    slowest = max(it[0] for it in plain.configs_timings.values())
    fastest = min(it[0] for it in restored.configs_timings.values())
    assert fastest > 2 * slowest
