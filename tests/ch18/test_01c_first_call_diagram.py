"""What is drawn: all trials come before the one launch."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

Make = Callable[..., Any]


def test_the_launch_comes_last(
    tuner: Make, draw: Callable[[int], tuple[Tensor, Tensor]]
) -> None:
    steps: list[str] = []

    def timed(run: Callable[[], None], quantiles: tuple[float, ...]):
        steps.append("trial")
        run()
        return [float(len(steps))] * 3

    def grid(meta: dict[str, int]) -> tuple[int]:
        steps.append(f"run {meta['BLOCK']}")
        return (-(-77 // meta["BLOCK"]),)

    tuned = tuner([32, 64], do_bench=timed)
    x, y = draw(77)
    tuned[grid](x, y, 77)
    assert steps == ["trial", "run 32", "trial", "run 64", "run 32"]
    steps.clear()
    tuned[grid](x, y, 77)
    assert steps == ["run 32"]
