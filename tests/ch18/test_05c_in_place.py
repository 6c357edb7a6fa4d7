"""A kernel in place is applied once for each run, unless it is restored."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from triton_grad.oracle import gelu_oracle

Make = Callable[..., Any]
Draw = Callable[[int], tuple[Tensor, Tensor]]


def assert_near(got: Tensor, truth: Tensor) -> None:
    torch.testing.assert_close(got.double(), truth, rtol=5e-6, atol=5e-6)


def test_every_run_applies_it_again(
    timer: Make, tuner: Make, launch: Make, draw: Draw
) -> None:
    tuned = tuner([32, 64], do_bench=timer(runs=2))
    x, _ = draw(77)
    y, truth = x.clone(), x.double()
    launch(tuned, y, y)
    for _ in range(5):
        truth = gelu_oracle(truth)
    assert_near(y, truth)
    assert (truth - gelu_oracle(x)).abs().max() > 0.1
    # Later calls are right.
    y = x.clone()
    launch(tuned, y, y)
    assert_near(y, gelu_oracle(x))


def test_restore_value_puts_it_back_between_trials(
    timer: Make, tuner: Make, launch: Make, draw: Draw
) -> None:
    timed = timer(runs=2)
    tuned = tuner([32, 64], do_bench=timed, restore_value=["x_ptr"])
    x, _ = draw(77)
    y = x.clone()
    launch(tuned, y, y)
    assert len(timed.trials) == 2
    assert_near(y, gelu_oracle(x))
