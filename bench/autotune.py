"""Every launch of the GELU's kernels: BLOCK and num_warps, in one run.

    python bench/autotune.py [--commit NAME]

Sweeps the chapter's kernels (erf) and the library's, forward and backward,
in three dtypes, at 2**28 and 2**20 elements: GB/s beside a copy's in the same
run, registers, spills, the occupancy that they leave, and what the compiled
code has of instructions. No launch is timed before its result is found right.
Then what triton.autotune takes of the same launches, and how long that lasts.

The cache is filled with other data before each of the timed calls; medians.
Takes about a minute on an H200 with 16 cores, half of it compiling. Writes
$OUT/autotune.json, or else bench/autotune.GPU.json; prints the best and the
worst launch of each kernel last.
"""

import argparse
import json
import math
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
import triton
from torch import Tensor

from provenance import ask, provenance, report_path
from triton_grad.device import DEVICE
from triton_grad.ops.gelu import (
    accurate_gelu_backward_kernel,
    accurate_gelu_forward_kernel,
)
from triton_grad.ops.gelu_erf import gelu_backward_kernel, gelu_forward_kernel

Row = dict[str, Any]
Figures = dict[str, Any]

KERNELS: dict[tuple[str, str], Any] = {
    ("teaching", "forward"): gelu_forward_kernel,
    ("library", "forward"): accurate_gelu_forward_kernel,
    ("teaching", "backward"): gelu_backward_kernel,
    ("library", "backward"): accurate_gelu_backward_kernel,
}
DTYPES = {
    "fp32": torch.float32,
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
}
# Of the largest error to the largest result: some roundings.
ERROR = {"fp32": 1e-5, "fp16": 2e-3, "bf16": 1e-2}

BLOCKS = [2**exponent for exponent in range(7, 14)]
WARPS = [1, 2, 4, 8, 16]
# With more elements a thread a kernel takes ten seconds to compile.
MOST_IN_A_THREAD = 128
USUAL = (1024, 4)

LARGE, SMALL = 2**28, 2**20
CHECKED = 2**20
CALLS = 15
# What moves as many tensors and computes next to nothing.
CEILINGS = {2: "copy", 3: "add"}
# What triton.autotune is asked for.
TUNED = {
    "large fp32": ("library", "forward", "fp32", LARGE),
    "large bf16": ("library", "forward", "bf16", LARGE),
    "small bf16": ("library", "forward", "bf16", SMALL),
    "small bf16 again": ("library", "forward", "bf16", SMALL),
}


@dataclass(frozen=True)
class Launch:
    """A kernel in one dtype, and how it is launched."""

    kernel: str
    direction: str
    dtype: str
    BLOCK: int
    num_warps: int

    @property
    def elements_in_a_thread(self) -> int:
        return max(1, self.BLOCK // (32 * self.num_warps))

    @property
    def of_kernel(self) -> tuple[str, str, str]:
        return self.kernel, self.direction, self.dtype

    def compiled(self) -> Any:
        """The kernel's binary, from Triton's cache on disk if it is there."""
        jit = KERNELS[self.kernel, self.direction]
        pointers = [DTYPES[self.dtype]] * (len(jit.arg_names) - 2)
        return jit.warmup(
            *pointers,
            LARGE,
            BLOCK=self.BLOCK,
            num_warps=self.num_warps,
            grid=(1,),
        )

    def run(self, tensors: tuple[Tensor, ...]) -> Any:
        """Launch on inputs and an output, and return the binary."""
        n = tensors[-1].numel()
        return KERNELS[self.kernel, self.direction][(-(-n // self.BLOCK),)](
            *tensors, n, BLOCK=self.BLOCK, num_warps=self.num_warps
        )


def launches() -> list[Launch]:
    every = [
        Launch(kernel, direction, dtype, block, warps)
        for kernel, direction in KERNELS
        for dtype in DTYPES
        for block in BLOCKS
        for warps in WARPS
    ]
    return [it for it in every if it.elements_in_a_thread <= MOST_IN_A_THREAD]


# -------------------------------------------------------------- compiling


def compile_into_cache(launch: Launch) -> float:
    """Seconds that it took."""
    start = time.perf_counter()
    launch.compiled()
    return time.perf_counter() - start


def compile_all(wanted: list[Launch]) -> float:
    """Compile in as many processes as there are cores: seconds it took."""
    start = time.perf_counter()
    # The longest first, so that no core waits for one of them in the end.
    longest = sorted(wanted, key=lambda it: -it.elements_in_a_thread)
    workers = min(16, os.cpu_count() or 1)
    # A forked process could not use the GPU.
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        for _ in pool.map(compile_into_cache, longest):
            pass
    return time.perf_counter() - start


def cold_compile_seconds() -> float:
    """The median of some kernels, each compiled alone, that no cache has."""
    some = [
        Launch("library", "forward", dtype, block, 4)
        for dtype in ("fp32", "bf16")
        for block in (512, 1024, 2048)
    ]
    # The first brings up the compiler.
    return statistics.median([compile_into_cache(it) for it in some][1:])


# ------------------------------------------------------- what was compiled


def occupancy(registers: int, num_warps: int) -> float:
    """The part of an SM's 64 warps that can be there at once.

    An H200's SM has room for 32 programs and 64 warps. Each of its quarters
    gives a warp registers from its own 16384, in portions of 256.
    """
    of_a_warp = math.ceil(registers * 32 / 256) * 256
    by_registers = 4 * (16384 // of_a_warp) // num_warps
    return min(32, 64 // num_warps, by_registers) * num_warps / 64


def instructions(binary: Any) -> dict[str, int]:
    """How many times the machine code has each instruction, up to its end."""
    counts: dict[str, int] = {}
    for line in binary.asm["sass"].splitlines():
        _, tab, code = line.partition("\t")
        if not tab:  # a label or a heading
            continue
        name = re.match(r"(?:@!?U?P\w+ )?(\w+)", code.strip())
        if name:
            counts[name[1]] = counts.get(name[1], 0) + 1
        if code.startswith("EXIT"):  # without a condition
            break
    return counts


def instruction_figures(lanes: float, ceilings: dict[str, float]) -> Figures:
    """Instructions of an element, in the usual launch.

    Of them can start as many a second as there are lanes. So many GB/s are
    moved at most, and so many of them have time at the ceiling's speed.
    """
    block, warps = USUAL
    shown: Figures = {}
    for kernel, direction in KERNELS:
        for dtype in DTYPES:
            launch = Launch(kernel, direction, dtype, block, warps)
            counts = instructions(launch.compiled())
            each = launch.elements_in_a_thread
            tensors = len(KERNELS[kernel, direction].arg_names) - 2
            moved = tensors * DTYPES[dtype].itemsize
            of_one = sum(counts.values()) / each
            ceiling = ceilings[f"{CEILINGS[tensors]} {dtype} {LARGE}"]
            shown.setdefault(f"{kernel} {direction}", {})[dtype] = {
                "all": round(of_one, 2),
                "special": round(counts.get("MUFU", 0) / each, 2),
                "limit in GB/s": round(lanes / of_one * moved / 1e9),
                "have time": round(lanes * moved / ceiling / 1e9, 1),
            }
    return shown


def stages_change_the_code() -> bool:
    """Whether num_stages makes another binary of a kernel without a loop."""
    block, warps = USUAL
    codes = {
        jit.warmup(
            *[torch.float32] * (len(jit.arg_names) - 2),
            LARGE,
            BLOCK=block,
            num_warps=warps,
            num_stages=stages,
            grid=(1,),
        ).asm["cubin"]
        for jit in [accurate_gelu_forward_kernel]
        for stages in (1, 2, 3, 4)
    }
    return len(codes) > 1


# ------------------------------------------------------------- the timing


class Clock:
    """Times calls whose inputs are in no cache."""

    def __init__(self) -> None:
        cache = torch.cuda.get_device_properties(0).L2_cache_size
        self.other_data = torch.empty(
            3 * cache, dtype=torch.uint8, device=DEVICE
        )

    def seconds(self, call: Callable[[], object]) -> float:
        """The median of some calls. While the cache is filled, the host is
        ahead of the GPU: the launch's own time is not in it."""
        events = [
            [torch.cuda.Event(enable_timing=True) for _ in range(2)]
            for _ in range(CALLS)
        ]
        for start, end in events:
            self.other_data.fill_(1)
            start.record()
            call()
            end.record()
        torch.cuda.synchronize()
        return statistics.median(a.elapsed_time(b) for a, b in events) / 1e3


class WrongResult(Exception):
    """A launch that computes something else must not be timed."""


def truth(direction: str, tensors: tuple[Tensor, ...]) -> Tensor:
    inputs = [tensor.double() for tensor in tensors[:-1]]
    if direction == "forward":
        return F.gelu(inputs[0])
    return torch.ops.aten.gelu_backward(*inputs)


def check(launch: Launch, tensors: tuple[Tensor, ...], right: Tensor) -> Any:
    """The binary of a launch whose result is found right."""
    output = tensors[-1]
    output.fill_(math.nan)  # what another launch left must not pass
    binary = launch.run(tensors)
    error = (output.double() - right).abs().max() / right.abs().max()
    if not error.item() <= ERROR[launch.dtype]:
        raise WrongResult(f"{launch} is wrong by {error.item():.1e}")
    return binary


def random_tensors(n: int, count: int, dtype: str) -> tuple[Tensor, ...]:
    """Inputs and an output."""
    generator = torch.Generator(DEVICE).manual_seed(1)
    inputs = [
        torch.randn(
            n, dtype=DTYPES[dtype], device=DEVICE, generator=generator
        )
        for _ in range(count - 1)
    ]
    return *inputs, torch.empty_like(inputs[0])


def ceiling(tensors: tuple[Tensor, ...]) -> Callable[[], object]:
    """PyTorch's op that moves as many bytes and computes next to nothing."""
    *inputs, output = tensors
    if len(inputs) == 1:
        return lambda: output.copy_(inputs[0])
    return lambda: torch.add(*inputs, out=output)


def gb_per_s(tensors: tuple[Tensor, ...], seconds: float) -> float:
    return sum(tensor.nbytes for tensor in tensors) / seconds / 1e9


def sweep(
    clock: Clock, wanted: list[Launch], n: int
) -> Iterator[tuple[list[Row], str, float]]:
    """The rows of one kernel and dtype, and its ceiling's name and GB/s."""
    for of_kernel in dict.fromkeys(it.of_kernel for it in wanted):
        kernel, direction, dtype = of_kernel
        count = len(KERNELS[kernel, direction].arg_names) - 2
        tried = random_tensors(CHECKED, count, dtype)
        right = truth(direction, tried)
        tensors = random_tensors(n, count, dtype)
        copy = gb_per_s(tensors[-2:], clock.seconds(ceiling(tensors[-2:])))
        highest = gb_per_s(tensors, clock.seconds(ceiling(tensors)))
        rows: list[Row] = []
        for launch in (it for it in wanted if it.of_kernel == of_kernel):
            binary = check(launch, tried, right)
            launch.run(tensors)
            seconds = clock.seconds(partial(launch.run, tensors))
            speed = gb_per_s(tensors, seconds)
            rows.append(
                {
                    "kernel": kernel,
                    "direction": direction,
                    "dtype": dtype,
                    "n": n,
                    "BLOCK": launch.BLOCK,
                    "num_warps": launch.num_warps,
                    "gb_per_s": round(speed, 1),
                    "of_copy": round(speed / copy, 4),
                    "of_ceiling": round(speed / highest, 4),
                    "microseconds": round(seconds * 1e6, 2),
                    "registers": binary.n_regs,
                    "spills": binary.n_spills,
                    "occupancy": occupancy(binary.n_regs, launch.num_warps),
                }
            )
        name = f"{CEILINGS[count]} {dtype} {n}"
        yield rows, name, round(highest, 1)


# ------------------------------------------------------- triton's own choice


def tuning(kernel: str, direction: str, dtype: str, n: int) -> Row:
    """What triton.autotune takes, of launches that are all compiled."""
    configs = [
        triton.Config({"BLOCK": it.BLOCK}, num_warps=it.num_warps)
        for it in launches()
        if it.of_kernel == (kernel, direction, dtype)
    ]
    tuned: Any = triton.autotune(configs, key=["n"])(
        KERNELS[kernel, direction]
    )
    tensors = random_tensors(n, len(tuned.arg_names) - 2, dtype)
    start = time.perf_counter()
    tuned[lambda meta: (-(-n // meta["BLOCK"]),)](*tensors, n)
    torch.cuda.synchronize()
    passed = time.perf_counter() - start
    medians = sorted(times[0] for times in tuned.configs_timings.values())
    return {
        "kernel": kernel,
        "direction": direction,
        "dtype": dtype,
        "n": n,
        "configs": len(configs),
        "seconds": round(passed, 2),
        "seconds of trials": round(tuned.bench_time, 2),
        "BLOCK": tuned.best_config.kwargs["BLOCK"],
        "num_warps": tuned.best_config.num_warps,
        "microseconds": round(medians[0] * 1e3, 2),
        "second microseconds": round(medians[1] * 1e3, 2),
        "worst microseconds": round(medians[-1] * 1e3, 2),
        "within 2 percent": sum(it <= 1.02 * medians[0] for it in medians),
    }


# ------------------------------------------------------------- the whole run


def best_and_worst(rows: list[Row], n: int) -> dict[str, dict[str, Row]]:
    """By kernel and direction, then dtype: the fastest launch's row, the
    slowest's and the usual one's."""
    shown: dict[str, dict[str, Any]] = {}
    for name in dict.fromkeys((r["kernel"], r["direction"]) for r in rows):
        for dtype in DTYPES:
            of_it = sorted(
                (
                    row
                    for row in rows
                    if (row["kernel"], row["direction"]) == name
                    and (row["dtype"], row["n"]) == (dtype, n)
                ),
                key=lambda row: row["gb_per_s"],
            )
            fast = 0.98 * of_it[-1]["gb_per_s"]
            shown.setdefault(" ".join(name), {})[dtype] = {
                "best": of_it[-1],
                "worst": of_it[0],
                "usual": next(
                    row
                    for row in of_it
                    if (row["BLOCK"], row["num_warps"]) == USUAL
                ),
                "within 2 percent": sum(
                    row["gb_per_s"] >= fast for row in of_it
                ),
                "launches": len(of_it),
            }
    return shown


def clock_megahertz() -> dict[str, int]:
    """The SMs' clock right now, and the highest it can have."""
    return {
        name: int(
            ask(
                "nvidia-smi",
                f"--query-gpu={field}",
                "--format=csv,noheader,nounits",
            )
        )
        for name, field in {
            "now": "clocks.current.sm",
            "highest": "clocks.max.sm",
        }.items()
    }


def table(shown: dict[str, dict[str, Any]]) -> Iterator[str]:
    yield (
        f"{'kernel':18} {'dtype':5} {'best GB/s':>9} {'of ceiling':>10}"
        f" {'launch':>9} {'usual':>7} {'worst':>7} {'launch':>9}"
    )
    for name, by_dtype in shown.items():
        for dtype, of_it in by_dtype.items():
            best, worst = of_it["best"], of_it["worst"]
            yield (
                f"{name:18} {dtype:5} {best['gb_per_s']:9.0f}"
                f" {best['of_ceiling']:10.3f}"
                f" {best['BLOCK']:>6}/{best['num_warps']:<2}"
                f" {of_it['usual']['gb_per_s']:7.0f}"
                f" {worst['gb_per_s']:7.0f}"
                f" {worst['BLOCK']:>6}/{worst['num_warps']:<2}"
            )


def measure(report: dict[str, Any], path: Path) -> None:
    """Fill in the report, and keep what there is after each step."""
    figures, rows = report["figures"], report["rows"]
    begin = time.perf_counter()

    def keep(done: str) -> None:
        path.write_text(json.dumps(report, indent=1) + "\n")
        print(f"{time.perf_counter() - begin:6.1f} s {done}", flush=True)

    wanted = launches()
    figures["cold compile seconds"] = round(cold_compile_seconds(), 3)
    figures["parallel compile seconds"] = round(compile_all(wanted), 1)
    keep(f"{len(wanted)} launches compiled")
    clock = Clock()
    figures["ceilings"] = {}
    for n in (LARGE, SMALL):
        for some, name, speed in sweep(clock, wanted, n):
            rows += some
            figures["ceilings"][name] = speed
            if n == LARGE:
                figures["clock"] = clock_megahertz()
        keep(f"n = 2**{n.bit_length() - 1} swept")
        figures[f"n {n}"] = best_and_worst(rows, n)
    properties = torch.cuda.get_device_properties(0)
    figures["multiprocessors"] = properties.multi_processor_count
    figures["cache bytes"] = properties.L2_cache_size
    figures["autotune"] = {}
    for name, what in TUNED.items():
        figures["autotune"][name] = tuning(*what)
        keep(f"autotune took {figures['autotune'][name]['BLOCK']}")
    # Each of an SM's four schedulers starts a warp's instruction in a cycle.
    cycles = 1e6 * figures["clock"]["now"]
    lanes = properties.multi_processor_count * 4 * 32 * cycles
    figures["instructions"] = instruction_figures(lanes, figures["ceilings"])
    figures["stages change the code"] = stages_change_the_code()
    keep("instructions counted")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--commit", help="the commit to name (default: git's HEAD)"
    )
    arguments = parser.parse_args()
    if DEVICE != "cuda":
        print("bench/autotune.py: torch finds no GPU here", file=sys.stderr)
        return 2
    # Its own, so that a first compilation is one.
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        report: dict[str, Any] = {
            "provenance": provenance("autotune.py", arguments.commit),
            "rows": [],
            "figures": {},
        }
        measure(report, report_path("autotune"))
    print(report["provenance"])
    figures = report["figures"]
    for name, made in figures["autotune"].items():
        print(name, made)
    print(json.dumps(figures["instructions"]))
    print(f"clock {figures['clock']}, ceilings {figures['ceilings']}")
    print(*table(figures[f"n {LARGE}"]), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
