"""Times are kept in a file where they mean something: not here."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

from triton_grad.device import DEVICE

Make = Callable[..., Any]
Draw = Callable[[int], tuple[Tensor, Tensor]]


def trials_of_two(
    timer: Make, tuner: Make, launch: Make, draw: Draw
) -> list[int]:
    """How many have been made after each of two tuners' first call."""
    timed = timer()
    counts = []
    for _ in range(2):
        tuned = tuner([64, 128], do_bench=timed, cache_results=True)
        launch(tuned, *draw(1024))
        counts.append(len(timed.trials))
    return counts


@pytest.mark.skipif(DEVICE != "cpu", reason="a GPU's times are kept")
def test_the_interpreter_keeps_none(
    timer: Make,
    tuner: Make,
    launch: Make,
    draw: Draw,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    assert trials_of_two(timer, tuner, launch, draw) == [2, 4]
    assert not list(tmp_path.rglob("*"))


@pytest.mark.gpu
@pytest.mark.skipif(DEVICE == "cpu", reason="nothing is kept")
def test_a_gpu_keeps_them(
    timer: Make,
    tuner: Make,
    launch: Make,
    draw: Draw,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    assert trials_of_two(timer, tuner, launch, draw) == [2, 2]
    assert len(list(tmp_path.rglob("*.autotune.json"))) == 1
