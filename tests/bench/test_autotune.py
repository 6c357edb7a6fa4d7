"""The bookkeeping of bench/autotune.py, and what it wrote on a GPU."""

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from triton_grad.device import DEVICE

BENCH = Path(__file__).parents[2] / "bench"
NAMES = ("kernel", "direction", "dtype", "BLOCK", "num_warps")

SASS = """\
\t.headerflags @"EF_CUDA_SM90"
.kernel:
\tMOV R1, c[0x0][0x28] ;
\t@!P0 MUFU.EX2 R2, R3 ;
\t@P1 EXIT ;
\t@UP0 MUFU.RSQ R2, R3 ;
\tEXIT ;
\tBRA `(.L) ;
"""


@pytest.fixture
def autotune(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(BENCH))
    yield importlib.import_module("autotune")
    for name in ("autotune", "provenance"):
        del sys.modules[name]


@pytest.fixture
def report() -> dict[str, Any]:
    return json.loads((BENCH / "autotune.h200.json").read_text("utf-8"))


@pytest.mark.parametrize(
    ("registers", "num_warps", "part"),
    [
        (32, 4, 1.0),  # 2048 threads of 32
        (33, 4, 0.75),  # 40 of them are given: 12 warps in a quarter
        (16, 1, 0.5),  # 32 programs at most
        (255, 1, 0.125),  # 2 warps in a quarter
        (40, 16, 0.75),
        (16, 16, 1.0),
    ],
)
def test_registers_leave_so_much_of_the_warps(
    autotune: Any, registers: int, num_warps: int, part: float
) -> None:
    assert autotune.occupancy(registers, num_warps) == part


def test_instructions_are_counted_up_to_the_last_exit(autotune: Any) -> None:
    counts = autotune.instructions(SimpleNamespace(asm={"sass": SASS}))
    assert counts == {"MOV": 1, "MUFU": 2, "EXIT": 2}


def test_what_has_time_is_where_the_limit_meets_the_ceiling(
    autotune: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = SimpleNamespace(asm={"sass": SASS})
    monkeypatch.setattr(autotune.Launch, "compiled", lambda _: made)
    ceilings = {
        f"{name} {dtype} {autotune.LARGE}": 4000.0
        for name in ("copy", "add")
        for dtype in autotune.DTYPES
    }
    figures = autotune.instruction_figures(3.2e13, ceilings)
    of_one = 5 / 8
    for name, tensors in (("forward", 2), ("backward", 3)):
        for dtype, size in (("fp32", 4), ("bf16", 2)):
            found = figures[f"library {name}"][dtype]
            # Half the bytes, half the time.
            assert found["have time"] == 8.0 * tensors * size
            assert found["limit in GB/s"] == pytest.approx(
                3.2e13 / of_one * tensors * size / 1e9
            )


def test_a_wrong_launch_is_not_timed(
    autotune: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch = autotune.Launch("library", "forward", "fp32", 128, 4)
    tensors = torch.ones(4, device=DEVICE), torch.empty(4, device=DEVICE)
    right = autotune.truth("forward", tensors)

    def runs(change: Callable[[Tensor], object]) -> None:
        def run(_: object, given: tuple[Tensor, ...]) -> None:
            change(given[-1])

        monkeypatch.setattr(autotune.Launch, "run", run)

    runs(lambda output: output.copy_(right))
    autotune.check(launch, tensors, right)
    runs(lambda output: output[:3].copy_(right[:3]))
    with pytest.raises(autotune.WrongResult):
        autotune.check(launch, tensors, right)
    runs(lambda output: output.copy_(right * 1.01))
    with pytest.raises(autotune.WrongResult):
        autotune.check(launch, tensors, right)


def test_the_record_has_every_launch(
    autotune: Any, report: dict[str, Any]
) -> None:
    for n in (autotune.LARGE, autotune.SMALL):
        found = {
            tuple(it[name] for name in NAMES)
            for it in report["rows"]
            if it["n"] == n
        }
        assert found == {
            (*it.of_kernel, it.BLOCK, it.num_warps)
            for it in autotune.launches()
        }


def test_the_record_s_best_are_those_of_its_rows(
    autotune: Any, report: dict[str, Any]
) -> None:
    for n in (autotune.LARGE, autotune.SMALL):
        figures = autotune.best_and_worst(report["rows"], n)
        assert report["figures"][f"n {n}"] == figures
        best = figures["library forward"]["bf16"]["best"]["gb_per_s"]
        speeds = [
            it["gb_per_s"]
            for it in report["rows"]
            if (it["kernel"], it["direction"]) == ("library", "forward")
            and (it["dtype"], it["n"]) == ("bf16", n)
        ]
        assert best == max(speeds)


def test_what_chapter_18_says_of_the_record_holds(
    autotune: Any, report: dict[str, Any]
) -> None:
    """Of the forward kernels, at 2**28 elements."""
    figures = report["figures"]
    speed = {
        (it["kernel"], it["dtype"], it["BLOCK"], it["num_warps"]): (
            it["gb_per_s"]
        )
        for it in report["rows"]
        if (it["direction"], it["n"]) == ("forward", autotune.LARGE)
    }
    erf = {key: it for key, it in speed.items() if key[0] == "teaching"}
    for (_, dtype, _, _), found in erf.items():
        ceiling = figures["ceilings"][f"copy {dtype} {autotune.LARGE}"]
        assert dtype == "fp32" or found < 0.8 * ceiling
    # A GPU starts so many programs a second, whatever they do.
    programs = speed["library", "bf16", 128, 4] / (128 * 4)
    for (_, dtype, block, warps), found in speed.items():
        size = 8 if dtype == "fp32" else 4
        if block <= 256 and warps <= 4:
            assert found / (block * size) == pytest.approx(programs, rel=0.02)
    # As many bytes of a thread, nearly as many GB/s.
    for narrow, wide in ((8, 16), (4, 8), (2, 4)):
        assert speed["library", "bf16", 1024, narrow] == pytest.approx(
            speed["library", "fp32", 1024, wide], rel=0.1
        )
    # The choices of triton.autotune at the small n are two.
    again = figures["autotune"]["small bf16 again"]
    once = figures["autotune"]["small bf16"]
    assert (once["BLOCK"], once["num_warps"]) != (
        again["BLOCK"],
        again["num_warps"],
    )
    tuned = figures["autotune"]["large fp32"]
    chosen = speed["library", "fp32", tuned["BLOCK"], tuned["num_warps"]]
    best = figures[f"n {autotune.LARGE}"]["library forward"]["fp32"]["best"]
    assert chosen > 0.98 * best["gb_per_s"]
