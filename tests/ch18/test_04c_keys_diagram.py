"""What is drawn: each call has the choice of its own key."""

from collections.abc import Callable
from typing import Any

import pytest
from torch import Tensor

Make = Callable[..., Any]


@pytest.mark.parametrize(
    ("key", "choices"), [([], [0, 0, 1]), (["n"], [0, 1, 2])]
)
def test_calls_share_a_choice_as_drawn(
    timer: Make,
    tuner: Make,
    launch: Make,
    draw: Callable[[int], tuple[Tensor, Tensor]],
    key: list[str],
    choices: list[int],
) -> None:
    # The n-th tuning chooses the n-th BLOCK.
    prices = [0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0]
    blocks = [32, 64, 128]
    tuned = tuner(blocks, key=key, do_bench=timer(*prices))
    used = []
    for n, narrow in ((77, False), (78, False), (77, True)):
        x, y = draw(n)
        launch(tuned, x.half() if narrow else x, y.half() if narrow else y)
        used.append(blocks.index(tuned.best_config.kwargs["BLOCK"]))
    assert used == choices
