"""How near to the memory's speed each way to compute a GELU comes.

    python bench/speed.py [--commit NAME]

In one run on one GPU: a copy and an addition as ceilings; the GELU and its
gradient, the chain 2 gelu(x) + 1, and gelu(x + bias) with both gradients, by
PyTorch, torch.compile, the book's kernels and the library; in three dtypes,
for 2**10 to 2**30 elements. Per call in a stream of calls, and in a replayed
CUDA graph, where launching costs next to nothing. Medians over batches of a
millisecond or more; the batches of all ways of a case take turns.

Every call finds its inputs cold: the sets of tensors rotate, their sizes add
up to three times the cache or no set comes twice in a batch, and before a
batch the cache is filled with other data. No way is timed before its result
is found right.

Takes about three minutes on an H200. Writes $OUT/speed.json, or else
bench/speed.GPU.json; prints what it reached at 2**28 elements last.
"""

import argparse
import json
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from call import host_times
from provenance import provenance, report_path
from triton_grad.device import DEVICE
from triton_grad.examples.bias_gelu import bias_gelu, bias_gelu_backward
from triton_grad.examples.gelu_chain import gelu_chain
from triton_grad.ops.gelu import gelu_backward_op, gelu_forward_op
from triton_grad.ops.gelu_erf import (
    triton_gelu_backward,
    triton_gelu_forward,
)

Work = Callable[[], object]
Row = dict[str, Any]
aten = torch.ops.aten

DTYPES = {
    "fp32": torch.float32,
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
}
# Of a result's error to the result, both by norm: some roundings.
ERROR = {"fp32": 1e-5, "fp16": 1e-3, "bf16": 8e-3}
SIZES = [2**exponent for exponent in range(10, 31, 2)]
SHOWN = 2**28
CHECKED = 2**24  # what torch.compile takes for the typical size, too

COLUMNS = 256
BIAS_COLUMNS = 4096
ROUNDS = 30
BATCH = 1e-3
# No GPU of today moves as much, nor finishes a kernel sooner.
BYTES_PER_SECOND, KERNEL = 5e12, 1.5e-6
MOST_SETS = 1024


# ------------------------------------------------------- what is computed


def forward(x: Tensor) -> Tensor:
    return F.gelu(x)


def backward(grad_output: Tensor, x: Tensor) -> Tensor:
    return aten.gelu_backward(grad_output, x)


def chain(x: Tensor) -> Tensor:
    return 2.0 * F.gelu(x) + 1.0


def biased(x: Tensor, bias: Tensor) -> Tensor:
    return F.gelu(x + bias)


def biased_backward_from_sum(
    grad_output: Tensor, total: Tensor
) -> tuple[Tensor, Tensor]:
    """As autograd does it eagerly: x + bias was saved by the forward."""
    grad_input = aten.gelu_backward(grad_output, total)
    return grad_input, grad_input.sum(dim=0)


def biased_backward(
    grad_output: Tensor, x: Tensor, bias: Tensor
) -> tuple[Tensor, Tensor]:
    return biased_backward_from_sum(grad_output, x + bias)


@dataclass(frozen=True)
class Case:
    """A function, and ways to compute it.

    Args:
        name: What it is called in the results.
        tensors: What a call gets: "x" and "grad_output" are random, "out" is
            written, "bias" is a row and "total" is x + bias.
        truth: The function.
        ways: Ways to compute it, by name.
        moved: Tensors of n elements that must be read or written.
        rows_moved: Rows of `columns` elements, likewise.
        columns: The tensors' last dimension.
    """

    name: str
    tensors: tuple[str, ...]
    truth: Callable[..., Any]
    ways: dict[str, Callable[..., Any]]
    moved: int
    rows_moved: int = 0
    columns: int = COLUMNS

    def bytes(self, n: int, dtype: torch.dtype) -> int:
        """What must move at least once."""
        elements = self.moved * n + self.rows_moved * self.columns
        return elements * dtype.itemsize

    def sizes(self, sizes: Sequence[int]) -> list[int]:
        """Those of four rows or more: fewer are another kind of matrix."""
        return [n for n in sizes if n >= 4 * self.columns]


def cases() -> list[Case]:
    """All that is measured."""
    return [
        Case(
            "copy",
            ("x", "out"),
            lambda x, out: x,
            {"ceiling": lambda x, out: out.copy_(x)},
            moved=2,
        ),
        Case(
            "add",
            ("grad_output", "x", "out"),
            lambda grad_output, x, out: grad_output + x,
            {"ceiling": lambda g, x, out: torch.add(g, x, out=out)},
            moved=3,
        ),
        Case(
            "gelu",
            ("x",),
            forward,
            {
                "pytorch": F.gelu,
                "compile": torch.compile(forward),
                "teaching": triton_gelu_forward,
                "library": gelu_forward_op,
            },
            moved=2,
        ),
        Case(
            "gelu_backward",
            ("grad_output", "x"),
            backward,
            {
                "pytorch": aten.gelu_backward,
                "compile": torch.compile(backward),
                "teaching": triton_gelu_backward,
                "library": gelu_backward_op,
            },
            moved=3,
        ),
        Case(
            "chain",
            ("x",),
            chain,
            {
                "pytorch": chain,
                "compile": torch.compile(chain),
                "fused": gelu_chain,
            },
            moved=2,
        ),
        Case(
            "bias_gelu",
            ("x", "bias"),
            biased,
            {
                "pytorch": biased,
                "compile": torch.compile(biased),
                "fused": bias_gelu,
            },
            moved=2,
            rows_moved=1,
            columns=BIAS_COLUMNS,
        ),
        biased_backward_case(),
    ]


def biased_backward_case() -> Case:
    compiled = torch.compile(biased_backward)
    return Case(
        "bias_gelu_backward",
        ("grad_output", "x", "bias", "total"),
        lambda g, x, bias, total: biased_backward(g, x, bias),
        {
            "pytorch": lambda g, x, bias, total: biased_backward_from_sum(
                g, total
            ),
            "compile": lambda g, x, bias, total: compiled(g, x, bias),
            "fused": lambda g, x, bias, total: bias_gelu_backward(g, x, bias),
        },
        moved=3,
        rows_moved=2,
        columns=BIAS_COLUMNS,
    )


# ------------------------------------------------------- what it is run on


class Sets:
    """Sets of tensors that calls use in turn.

    A set's result is kept until the set's turn comes again: so the results
    lie in different memory, too.
    """

    def __init__(
        self,
        case: Case,
        dtype: torch.dtype,
        n: int,
        count: int,
        generator: torch.Generator,
    ) -> None:
        def random(*shape: int) -> Tensor:
            return torch.randn(
                shape, dtype=dtype, device=DEVICE, generator=generator
            )

        shape = (count, n // case.columns, case.columns)
        pools: dict[str, Sequence[Tensor]] = {}
        for name in case.tensors:
            if name == "bias":
                pools[name] = [random(case.columns)] * count
            elif name == "out":
                pools[name] = torch.empty(
                    shape, dtype=dtype, device=DEVICE
                ).unbind()
            elif name == "total":
                pools[name] = [
                    x + bias
                    for x, bias in zip(pools["x"], pools["bias"], strict=True)
                ]
            else:
                pools[name] = random(*shape).unbind()
        self.sets = list(zip(*pools.values(), strict=True))
        self.results: list[object] = [None] * count
        self.at = 0

    def run(self, call: Callable[..., object], count: int) -> None:
        """Call as many times, on the next sets."""
        for _ in range(count):
            self.results[self.at] = call(*self.sets[self.at])
            self.at = (self.at + 1) % len(self.sets)


def sets_for(set_bytes: int, cache_bytes: int) -> int:
    """How many sets are three times the cache; no more than a batch uses."""
    return min(MOST_SETS, 1 + math.ceil(3 * cache_bytes / set_bytes))


def calls_in_batch(seconds_each: float) -> int:
    """How many calls take a batch's time, if there are sets for them."""
    most = MOST_SETS * 3 // 4  # the others are for the calls before
    return max(1, min(most, math.ceil(BATCH / seconds_each)))


def calls_before(count: int) -> int:
    """How many calls come before so many that are timed."""
    return max(1, count // 4)


# ---------------------------------------------------------- how it is timed


class Clock(Protocol):
    """What times work, on a GPU or, to try the rest, elsewhere."""

    cache_bytes: int

    def seconds(self, before: Work, work: Work) -> float:
        """How long the GPU takes for work that comes right after before."""
        ...

    def captured(self, work: Work) -> Work:
        """What does the work again, without the host's part of it."""
        ...

    def wait(self) -> None:
        """Until all work is done."""
        ...


class GPUClock:
    """CUDA's events and graphs, and a cache full of other data."""

    def __init__(self) -> None:
        self.cache_bytes = torch.cuda.get_device_properties(0).L2_cache_size
        self.other_data = torch.empty(
            3 * self.cache_bytes, dtype=torch.uint8, device=DEVICE
        )
        self.start, self.end = (
            torch.cuda.Event(enable_timing=True) for _ in range(2)
        )

    def seconds(self, before: Work, work: Work) -> float:
        self.other_data.fill_(1)
        before()
        self.start.record()
        work()
        self.end.record()
        self.end.synchronize()
        return self.start.elapsed_time(self.end) / 1e3

    def captured(self, work: Work) -> Work:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            work()
        return graph.replay

    def wait(self) -> None:
        torch.cuda.synchronize()


Batch = Callable[[], float]


def nothing() -> None:
    """What comes before a graph: replaying it needs no start."""


def stream_batch(
    clock: Clock, sets: Sets, call: Callable[..., object], floor: float
) -> Batch:
    """A batch of calls, one after the other, as a program makes them."""
    tried = min(16, calls_in_batch(floor))
    sets.run(call, 2)
    clock.wait()
    start = time.perf_counter()
    sets.run(call, tried)
    clock.wait()
    count = calls_in_batch((time.perf_counter() - start) / tried)

    def batch() -> float:
        # While the cache is filled the host gets ahead; a fourth more calls
        # first, and it is as far ahead as it is in a long row of them.
        seconds = clock.seconds(
            lambda: sets.run(call, calls_before(count)),
            lambda: sets.run(call, count),
        )
        return seconds / count

    return batch


def graph_batch(
    clock: Clock, sets: Sets, call: Callable[..., object], floor: float
) -> Batch:
    """The same calls from a CUDA graph."""
    count = calls_in_batch(floor)
    replay = clock.captured(lambda: sets.run(call, count))
    replay()  # the first uploads the graph
    return lambda: clock.seconds(nothing, replay) / count


def in_turn(batches: dict[str, Batch]) -> dict[str, list[float]]:
    """Rounds of all batches, so that a slow moment hits all alike."""
    rounds = [
        {way: batch() for way, batch in batches.items()}
        for _ in range(ROUNDS)
    ]
    return {way: [one[way] for one in rounds] for way in batches}


def captured_batches(
    clock: Clock, sets: Sets, case: Case, floor: float
) -> tuple[dict[str, Batch], dict[str, str]]:
    """The batches of the ways that can be captured; why others cannot."""
    batches: dict[str, Batch] = {}
    reasons: dict[str, str] = {}
    for way, call in case.ways.items():
        try:
            batches[way] = graph_batch(clock, sets, call, floor)
        except RuntimeError as error:
            reasons[way] = str(error).splitlines()[0]
    return batches, reasons


def spread(times: list[float]) -> float:
    """The middle half's width, over the median."""
    first, middle, third = statistics.quantiles(times, n=4)
    return (third - first) / middle


def measured(
    clock: Clock,
    case: Case,
    dtype: str,
    n: int,
    generator: torch.Generator,
) -> list[Row]:
    """A row for every way to compute a case on n elements."""
    moved = case.bytes(n, DTYPES[dtype])
    floor = max(KERNEL, moved / BYTES_PER_SECOND)
    count = sets_for(moved, clock.cache_bytes)
    sets = Sets(case, DTYPES[dtype], n, count, generator)
    stream = in_turn(
        {
            way: stream_batch(clock, sets, call, floor)
            for way, call in case.ways.items()
        }
    )
    batches, reasons = captured_batches(clock, sets, case, floor)
    graph = in_turn(batches)
    rows: list[Row] = []
    for way, times in stream.items():
        row: Row = {
            "case": case.name,
            "way": way,
            "dtype": dtype,
            "n": n,
            "bytes": moved,
            "microseconds": round(statistics.median(times) * 1e6, 3),
            "graph_microseconds": None,
            "runs": len(times),
            "spread": round(spread(times), 4),
        }
        if way in graph:
            median = statistics.median(graph[way])
            row["graph_microseconds"] = round(median * 1e6, 3)
        else:
            row["reason"] = reasons[way]
        rows.append(row)
    return rows


# --------------------------------------------------------- is it right at all


class WrongResult(Exception):
    """A way that computes something else must not be timed."""


def outputs(result: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return (result,) if isinstance(result, Tensor) else result


def check(case: Case, dtype: str, n: int, generator: torch.Generator) -> None:
    """Compare each way with the truth in float64."""
    sets = Sets(case, DTYPES[dtype], n, 1, generator)
    (tensors,) = sets.sets
    for tensor in tensors:
        if tensor.dim() == 2:
            # One compilation for all sizes.
            torch._dynamo.mark_dynamic(tensor, 0)
    truths = outputs(case.truth(*(it.double() for it in tensors)))
    for way, call in case.ways.items():
        # What the next result finds where it lies, should nothing be stored.
        poison = [torch.full_like(it, math.nan) for it in tensors]
        del poison
        for result, truth in zip(
            outputs(call(*tensors)), truths, strict=True
        ):
            error = (result.double() - truth).norm() / truth.norm()
            if not error.item() <= ERROR[dtype]:
                raise WrongResult(
                    f"{case.name} by {way} in {dtype} is wrong by"
                    f" {error.item():.1e} of its norm"
                )


# ------------------------------------------------------------- the whole run


def sweep(
    clock: Clock, measured_cases: list[Case], sizes: list[int], checked: int
) -> Iterator[list[Row]]:
    """The rows of one dtype and size after another."""
    generator = torch.Generator(device=DEVICE).manual_seed(1)
    begin = time.perf_counter()
    for dtype in DTYPES:
        for case in measured_cases:
            check(case, dtype, checked, generator)
        print(f"{time.perf_counter() - begin:6.1f} s {dtype}: all are right")
        for n in sizes:
            rows: list[Row] = []
            for case in measured_cases:
                if n in case.sizes(sizes):
                    torch.cuda.empty_cache()
                    rows += measured(clock, case, dtype, n, generator)
            passed = time.perf_counter() - begin
            print(f"{passed:6.1f} s {dtype}: n = {n}", flush=True)
            yield rows


def times_at(rows: list[Row], n: int) -> dict[tuple[str, str, str], float]:
    """The microseconds of n elements by case, way and dtype."""
    return {
        (row["case"], row["way"], row["dtype"]): row["microseconds"]
        for row in rows
        if row["n"] == n
    }


# Of which two a figure is the ratio of speeds. Both move as many bytes.
FIGURES = {
    "forward of copy": (("gelu", "library"), ("copy", "ceiling")),
    "backward of add": (("gelu_backward", "library"), ("add", "ceiling")),
    "forward of PyTorch": (("gelu", "library"), ("gelu", "pytorch")),
    "backward of PyTorch": (
        ("gelu_backward", "library"),
        ("gelu_backward", "pytorch"),
    ),
}


def figures(rows: list[Row], n: int) -> dict[str, dict[str, float]]:
    """How fast the library is, as a part of something else's speed."""
    times = times_at(rows, n)
    return {
        name: {
            dtype: round(times[*other, dtype] / times[*ours, dtype], 4)
            for dtype in DTYPES
        }
        for name, (ours, other) in FIGURES.items()
    }


# Their ceiling is add; that of the others is copy.
THREE_STREAMS = ("add", "gelu_backward", "bias_gelu_backward")


def table(rows: list[Row], n: int) -> Iterator[str]:
    """Each way's speed at n elements, and its part of its ceiling's."""
    yield f"n = 2**{n.bit_length() - 1}: GB/s, of the ceiling's"
    yield f"{'':30}" + "".join(f"{dtype:>15}" for dtype in DTYPES)
    shown = [row for row in rows if row["n"] == n]
    speeds = {
        (row["case"], row["way"], row["dtype"]): row["bytes"]
        / row["microseconds"]
        / 1e3
        for row in shown
    }
    for case, way in dict.fromkeys((r["case"], r["way"]) for r in shown):
        ceiling = "add" if case in THREE_STREAMS else "copy"
        line = f"{case:19} {way:10}"
        for dtype in DTYPES:
            speed = speeds[case, way, dtype]
            part = speed / speeds[ceiling, "ceiling", dtype]
            line += f"{speed:9.0f} {part:5.3f}"
        yield line


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--commit", help="the commit to name (default: git's HEAD)"
    )
    arguments = parser.parse_args()
    if DEVICE != "cuda":
        print("bench/speed.py: torch finds no GPU here", file=sys.stderr)
        return 2
    path = report_path("speed")
    facts = provenance("speed.py", arguments.commit)
    report: Row = {"provenance": facts, "rows": [], "host": host_times()}
    for rows in sweep(GPUClock(), cases(), SIZES, CHECKED):
        report["rows"] += rows
        # After each size: what is measured is kept, whatever comes.
        path.write_text(json.dumps(report, indent=1) + "\n")
    report["figures"] = figures(report["rows"], SHOWN)
    path.write_text(json.dumps(report, indent=1) + "\n")
    print(facts)
    print(json.dumps(report["host"], indent=1))
    print(*table(report["rows"], SHOWN), sep="\n")
    print(json.dumps(report["figures"], indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
