"""A key has what it names, and every dtype whether named or not."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

Make = Callable[..., Any]
Draw = Callable[[int], tuple[Tensor, Tensor]]


@pytest.mark.parametrize(("key", "tuned_anew"), [([], False), (["n"], True)])
def test_another_size_is_new_if_n_is_named(
    timer: Make,
    tuner: Make,
    launch: Make,
    draw: Draw,
    key: list[str],
    tuned_anew: bool,
) -> None:
    timed = timer()
    tuned = tuner([32, 64], key=key, do_bench=timed)
    launch(tuned, *draw(77))
    launch(tuned, *draw(78))
    assert len(timed.trials) == (4 if tuned_anew else 2)


@pytest.mark.parametrize("key", [[], ["n"]])
def test_another_dtype_is_always_new(
    timer: Make, tuner: Make, launch: Make, draw: Draw, key: list[str]
) -> None:
    timed = timer()
    tuned = tuner([32, 64], key=key, do_bench=timed)
    x, y = draw(77)
    launch(tuned, x, y)
    launch(tuned, x.half(), y.half())
    assert len(timed.trials) == 4
    # That of the output alone is one, too.
    launch(tuned, x, y.half())
    assert len(timed.trials) == 6
    launch(tuned, x, y)
    assert len(timed.trials) == 6
    assert [key[-2:] for key in tuned.cache] == [
        ("torch.float32", "torch.float32"),
        ("torch.float16", "torch.float16"),
        ("torch.float32", "torch.float16"),
    ]


def test_a_tensor_that_is_named_is_compared_as_an_object(
    timer: Make, tuner: Make, launch: Make, draw: Draw
) -> None:
    timed = timer()
    tuned = tuner([32, 64], key=["x_ptr"], do_bench=timed)
    x, y = draw(77)
    launch(tuned, x, y)
    launch(tuned, torch.clone(x), y)
    assert len(timed.trials) == 4
