"""All configs are tried, the one with the lowest median is launched."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from triton_grad.oracle import gelu_oracle

Make = Callable[..., Any]


@pytest.mark.parametrize(
    ("prices", "best"),
    [((1.0, 2.0, 3.0), 32), ((3.0, 1.0, 2.0), 64), ((3.0, 2.0, 1.0), 128)],
)
def test_the_cheapest_is_launched(
    timer: Make,
    tuner: Make,
    launch: Make,
    draw: Callable[[int], tuple[Tensor, Tensor]],
    prices: tuple[float, ...],
    best: int,
) -> None:
    timed = timer(*prices)
    tuned = tuner([32, 64, 128], do_bench=timed)
    x, y = draw(301)
    launch(tuned, x, y)
    assert timed.trials == list(prices)
    assert tuned.best_config.kwargs == {"BLOCK": best}
    torch.testing.assert_close(
        y.double(), gelu_oracle(x), rtol=2e-6, atol=2e-6
    )


def test_a_later_call_tries_nothing_and_runs_once(
    timer: Make,
    tuner: Make,
    launch: Make,
    draw: Callable[[int], tuple[Tensor, Tensor]],
) -> None:
    timed = timer(2.0, 1.0)
    tuned = tuner([32, 64], do_bench=timed)
    x, y = draw(77)
    launch(tuned, x, y)
    grids: list[int] = []

    def grid(meta: dict[str, int]) -> tuple[int]:
        grids.append(meta["BLOCK"])
        return (-(-77 // meta["BLOCK"]),)

    tuned[grid](x, y, 77)
    assert grids == [64]
    assert len(timed.trials) == 2


def test_it_is_the_median_that_counts(
    tuner: Make,
    launch: Make,
    draw: Callable[[int], tuple[Tensor, Tensor]],
) -> None:
    asked: list[tuple[float, ...]] = []
    times = iter([[2.0, 0.1, 2.1], [1.0, 0.9, 9.0]])

    def timed(run: Callable[[], None], quantiles: tuple[float, ...]):
        asked.append(quantiles)
        return next(times)

    tuned = tuner([32, 64], do_bench=timed)
    launch(tuned, *draw(77))
    assert asked == [(0.5, 0.2, 0.8)] * 2
    assert tuned.best_config.kwargs == {"BLOCK": 64}
