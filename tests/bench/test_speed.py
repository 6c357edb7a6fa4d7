"""The bookkeeping of bench/speed.py, which needs a GPU for its times only."""

import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from triton_grad.device import DEVICE

BENCH = Path(__file__).parents[2] / "bench"
SIZES = [2**10, 2**11]
MICROSECONDS = 10.0


class FakeClock:
    """Every call takes 10 µs, from a graph too."""

    cache_bytes = 2**18
    calls = 0  # counted by the fixture's Sets.run

    def seconds(self, before: Any, work: Any) -> float:
        before()
        done = self.calls
        work()
        return (self.calls - done) * MICROSECONDS / 1e6

    def captured(self, work: Any) -> Any:
        work()
        return work

    def wait(self) -> None:
        pass


@pytest.fixture
def speed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(BENCH))
    monkeypatch.setattr(torch, "compile", lambda function: function)
    yield importlib.import_module("speed")
    for name in ("speed", "call", "provenance"):
        del sys.modules[name]


@pytest.fixture
def clock(speed: Any, monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    clock = FakeClock()
    run = speed.Sets.run

    def counted(self: Any, call: Callable[..., object], count: int) -> None:
        clock.calls += count
        run(self, call, count)

    monkeypatch.setattr(speed.Sets, "run", counted)
    monkeypatch.setattr(speed, "ROUNDS", 2)
    monkeypatch.setattr(speed, "BATCH", 1e-6)
    monkeypatch.delitem(speed.DTYPES, "fp16")
    monkeypatch.setattr(speed, "MOST_SETS", 4)
    # Four rows of them are a matrix that the interpreter is done with soon.
    monkeypatch.setattr(speed, "BIAS_COLUMNS", 512)
    return clock


def gelu_case(speed: Any, call: Callable[[Tensor], Tensor]) -> Any:
    return speed.Case(
        "gelu", ("x",), torch.nn.functional.gelu, {"library": call}, moved=2
    )


def row(case: str, way: str, dtype: str, microseconds: float) -> Any:
    return {
        "case": case,
        "way": way,
        "dtype": dtype,
        "n": 2**28,
        "bytes": 4 * 2**28,
        "microseconds": microseconds,
    }


def test_a_run_of_everything(speed: Any, clock: FakeClock) -> None:
    """A row for every way, dtype and size; those that hold numbers, right."""
    cases = speed.cases()
    rows = [
        it for some in speed.sweep(clock, cases, SIZES, 2**11) for it in some
    ]
    found = [(r["case"], r["way"], r["dtype"], r["n"]) for r in rows]
    assert len(set(found)) == len(found)
    assert set(found) == {
        (case.name, way, dtype, n)
        for case in cases
        for way in case.ways
        for dtype in ("fp32", "bf16")
        for n in SIZES
        if n >= 2**11 or not case.name.startswith("bias")
    }
    for it in rows:
        assert it["microseconds"] == pytest.approx(MICROSECONDS), it
        assert it["graph_microseconds"] == pytest.approx(MICROSECONDS), it
        assert it["runs"] == 2
        assert it["spread"] == pytest.approx(0.0)
        assert "reason" not in it


def test_what_cannot_be_captured_is_null_and_says_why(
    speed: Any, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(work: Any) -> Any:
        raise RuntimeError("not while capturing\nand a trace")

    monkeypatch.setattr(clock, "captured", refused)
    case = gelu_case(speed, torch.nn.functional.gelu)
    generator = torch.Generator(DEVICE)
    (it,) = speed.measured(clock, case, "fp32", 2**10, generator)
    assert it["graph_microseconds"] is None
    assert it["reason"] == "not while capturing"
    assert it["microseconds"] == pytest.approx(MICROSECONDS)


def nearly(x: Tensor) -> Tensor:
    return torch.nn.functional.gelu(x, approximate="tanh")


def unwritten(x: Tensor) -> Tensor:
    return torch.nn.functional.gelu(x).index_fill(
        0, torch.tensor([1], device=x.device), float("nan")
    )


@pytest.mark.parametrize("wrong", [nearly, unwritten])
def test_a_wrong_way_is_not_timed(
    speed: Any, clock: FakeClock, wrong: Callable[[Tensor], Tensor]
) -> None:
    case = gelu_case(speed, wrong)
    with pytest.raises(speed.WrongResult, match="gelu by library in fp32"):
        list(speed.sweep(clock, [case], SIZES, 2**11))
    assert clock.calls == 0


def test_each_case_counts_what_must_move(speed: Any) -> None:
    moved = {
        case.name: case.bytes(2**14, torch.float16) for case in speed.cases()
    }
    tensor, row_of_bias = 2 * 2**14, 2 * 4096
    assert moved == {
        "copy": 2 * tensor,
        "add": 3 * tensor,
        "gelu": 2 * tensor,
        "gelu_backward": 3 * tensor,
        "chain": 2 * tensor,
        "bias_gelu": 2 * tensor + row_of_bias,
        "bias_gelu_backward": 3 * tensor + 2 * row_of_bias,
    }


@pytest.mark.parametrize("exponent", range(10, 31, 2))
@pytest.mark.parametrize("width", [2, 4])
def test_no_call_finds_its_set_in_the_cache(
    speed: Any, exponent: int, width: int
) -> None:
    """Together the sets are thrice the cache, or none comes twice."""
    cache = 60 * 2**20
    set_bytes = 2 * width * 2**exponent
    sets = speed.sets_for(set_bytes, cache)
    longest = speed.calls_in_batch(1e-9)
    used = longest + speed.calls_before(longest)
    assert sets * set_bytes > 3 * cache or used <= sets
    assert sets >= 2


def test_sets_are_used_in_turn(speed: Any) -> None:
    """Each call gets the next set; what a set gave lives until its turn."""
    case = gelu_case(speed, torch.neg)
    generator = torch.Generator(DEVICE)
    sets = speed.Sets(case, torch.float32, 2**10, 3, generator)
    seen: list[Tensor] = []

    def call(x: Tensor) -> Tensor:
        seen.append(x)
        return -x

    sets.run(call, 2)
    sets.run(call, 2)
    assert [it.data_ptr() for it in seen] == [
        sets.sets[i][0].data_ptr() for i in (0, 1, 2, 0)
    ]
    assert len({it.data_ptr() for it in sets.results}) == 3
    for (x,), result in zip(sets.sets, sets.results, strict=True):
        assert torch.equal(result, -x)


def test_figures_and_table(speed: Any) -> None:
    rows = [
        row(case, way, dtype, microseconds)
        for dtype in ("fp32", "fp16", "bf16")
        for case, way, microseconds in (
            ("copy", "ceiling", 97.0),
            ("add", "ceiling", 99.0),
            ("gelu", "pytorch", 150.0),
            ("gelu", "library", 100.0),
            ("gelu_backward", "pytorch", 110.0),
            ("gelu_backward", "library", 200.0),
        )
    ]
    rows[3] = row("gelu", "library", "fp32", 50.0)
    rows.append({**rows[4], "n": 2**10, "microseconds": 1.0})
    found = speed.figures(rows, 2**28)
    assert found["forward of copy"] == {
        "fp32": 1.94,
        "fp16": 0.97,
        "bf16": 0.97,
    }
    assert found["backward of add"]["bf16"] == 0.495
    assert found["forward of PyTorch"]["fp16"] == 1.5
    assert found["backward of PyTorch"]["fp32"] == 0.55
    lines = list(speed.table(rows, 2**28))
    assert lines[0] == "n = 2**28: GB/s, of the ceiling's"
    library = next(it for it in lines if it.split()[:2] == BACKWARD)
    assert library.split()[2:] == ["5369", "0.495"] * 3


BACKWARD = ["gelu_backward", "library"]


@pytest.mark.skipif(DEVICE == "cuda", reason="there is a GPU")
def test_without_a_gpu_it_says_so() -> None:
    done = subprocess.run(
        [sys.executable, str(BENCH / "speed.py")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr == "bench/speed.py: torch finds no GPU here\n"
    assert done.stdout == ""
