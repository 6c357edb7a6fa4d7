"""What a fence `plot` shows of what the scripts in bench/ measured.

The fence says what to show, of which file and of what in it:

    throughput speed.h200.json gelu
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from bookpress.errors import PressError, nearest
from bookpress.plots import STYLES, Line, Plot, Scale

Row = dict[str, Any]

DTYPES = ("fp32", "fp16", "bf16")
LARGE = 2**28
SMALL = 2**20
# Which case is as fast as another one can be: it moves as many bytes.
CEILINGS = {
    "gelu": "copy",
    "gelu_backward": "add",
    "chain": "copy",
    "bias_gelu": "copy",
    "bias_gelu_backward": "add",
}
# A way to compute something is drawn alike in all plots.
WAYS = {
    "library": ("triton_grad", STYLES[1]),
    "fused": ("fused kernel", STYLES[1]),
    "pytorch": ("PyTorch", STYLES[2]),
    "compile": ("torch.compile", STYLES[3]),
    "teaching": ("chapter 16's kernel", STYLES[4]),
}
# A line each in the plots of launches.
WARPS = (1, 2, 4, 8, 16)
GPU = ("gpu", "driver", "torch", "triton", "commit", "date")


@dataclass(frozen=True)
class Measurements:
    """A JSON file of bench/.

    Attributes:
        name: The file's name.
        content: What it holds.
    """

    name: str
    content: Any

    def at(self, *keys: str) -> Any:
        """What stands under these keys.

        Raises:
            PressError: nothing does.
        """
        found = self.content
        for depth, key in enumerate(keys):
            if not isinstance(found, dict) or key not in found:
                place = ", ".join(keys[: depth + 1])
                there = found if isinstance(found, dict) else ()
                raise PressError(
                    f"bench/{self.name} has no {place}: {nearest(key, there)}"
                )
            found = found[key]
        return found

    def rows(self, **wanted: object) -> list[Row]:
        """The rows that have these values.

        Raises:
            PressError: none has them.
        """
        found = [
            row
            for row in self.at("rows")
            if all(row.get(key) == it for key, it in wanted.items())
        ]
        if not found:
            told = ", ".join(f"{key} {it}" for key, it in wanted.items())
            raise PressError(f"bench/{self.name} has no row of {told}")
        return found

    def value(self, row: Row, key: str) -> float:
        """A number of a row.

        Raises:
            PressError: there is none.
        """
        if not isinstance(row.get(key), (int, float)):
            told = {name: it for name, it in row.items() if it is not None}
            raise PressError(
                f"bench/{self.name} has no number {key!r} in {told}"
            )
        return row[key]

    def origin(self) -> str:
        """What it was measured on, as a paragraph."""
        facts = self.at("provenance")
        labels = GPU if "gpu" in facts else tuple(facts)
        told = [f"bench/{self.name}"]
        for label in labels:
            word = "" if label in ("gpu", "date") else f"{label} "
            told.append(f"{word}{self.at('provenance', label)}")
        line = escape(" · ".join(told))
        return f'<p class="output-meta">{line}</p>'


def read_measurements(root: Path, name: str) -> Measurements:
    """A file of bench/.

    Raises:
        PressError: it is not there, or no JSON.
    """
    try:
        text = (root / "bench" / name).read_text("utf-8")
        return Measurements(name, json.loads(text))
    except (OSError, ValueError) as error:
        kind = type(error).__name__
        raise PressError(f"bench/{name}: {kind}: {error}") from error


def shown(root: Path, body: str) -> str:
    """What the body of a fence `plot` asks for, as HTML.

    Raises:
        PressError: there is no such thing.
    """
    kind, *words = body.split()
    if kind not in KINDS:
        raise PressError(f"no plot {kind!r}: {nearest(kind, KINDS)}")
    names, show = KINDS[kind]
    if len(words) != 1 + len(names):
        wanted = " ".join((kind, "FILE.json", *names))
        raise PressError(f"a plot is asked for by: {wanted}")
    return show(read_measurements(root, words[0]), *words[1:])


# ------------------------------------------------------------ how fast it is


def gb_per_s(data: Measurements, row: Row) -> float:
    """Bytes over microseconds, times 1e-3."""
    microseconds = data.value(row, "microseconds")
    return data.value(row, "bytes") / microseconds / 1e3


def ceiling_of(case: str) -> str:
    if case not in CEILINGS:
        raise PressError(f"no case {case!r}: {nearest(case, CEILINGS)}")
    return CEILINGS[case]


def ways_of(data: Measurements, case: str) -> list[str]:
    found = {row["way"] for row in data.rows(case=case)}
    return [way for way in WAYS if way in found]


def speeds(data: Measurements, rows: list[Row]) -> tuple[tuple, ...]:
    return tuple(
        (data.value(row, "n"), gb_per_s(data, row))
        for row in sorted(rows, key=lambda row: row["n"])
    )


def throughput(data: Measurements, case: str) -> str:
    """GB/s of each way over n, a panel for each dtype."""
    ceiling = ceiling_of(case)
    panels = {}
    for dtype in DTYPES:
        rows = data.rows(case=ceiling, dtype=dtype)
        lines = [Line(ceiling, STYLES[0], speeds(data, rows))]
        for way in ways_of(data, case):
            rows = data.rows(case=case, way=way, dtype=dtype)
            lines.append(Line(*WAYS[way], speeds(data, rows)))
        panels[dtype] = tuple(lines)
    plot = Plot(
        f"throughput {case}",
        Scale("elements", base=2),
        Scale("GB/s", low=0),
        panels,
    )
    return plot.figure(data.origin())


def latency(data: Measurements, case: str, dtype: str) -> str:
    """Microseconds per call over a small n, by the two ways to call."""
    ceiling_of(case)
    panels = {}
    for title, key in (
        ("in a stream of calls", "microseconds"),
        ("in a CUDA graph", "graph_microseconds"),
    ):
        lines = []
        for way in ways_of(data, case):
            rows = data.rows(case=case, way=way, dtype=dtype)
            points = tuple(
                (data.value(row, "n"), data.value(row, key))
                for row in sorted(rows, key=lambda row: row["n"])
                # What cannot be captured in a graph has no time there.
                if row["n"] <= SMALL and row.get(key, 0) is not None
            )
            if points:
                lines.append(Line(*WAYS[way], points))
        panels[title] = tuple(lines)
    plot = Plot(
        f"latency {case}",
        Scale("elements", base=2),
        Scale("µs per call", low=0),
        panels,
    )
    return plot.figure(data.origin())


def ratios(data: Measurements, case: str) -> str:
    """Each way's part of its ceiling's speed, for a large n."""
    ceiling = ceiling_of(case)

    def speed(case: str, way: str, dtype: str) -> float:
        (row,) = data.rows(case=case, way=way, dtype=dtype, n=LARGE)
        return gb_per_s(data, row)

    limits = [speed(ceiling, "ceiling", dtype) for dtype in DTYPES]
    rows = [[ceiling, *(f"{limit:.0f} GB/s" for limit in limits)]]
    for way in ways_of(data, case):
        parts = [
            f"{speed(case, way, dtype) / limit:.3f}"
            for dtype, limit in zip(DTYPES, limits, strict=True)
        ]
        rows.append([WAYS[way][0], *parts])
    return table([f"{case}", *DTYPES], rows) + data.origin()


def host(data: Measurements) -> str:
    """The host's time per call, and over that of the bare launch."""
    times = data.at("host", "microseconds")
    rows = []
    for name, time in times.items():
        bare = times.get(name.split(",")[0] + ", bare kernel")
        part = f"{time / bare:.2f}" if bare else ""
        rows.append([name, f"{time:.1f}", part])
    heads = [f"n = {data.at('host', 'n')}", "µs per call", "of bare"]
    return table(heads, rows) + data.origin()


def autotune(data: Measurements, kernel: str, direction: str) -> str:
    """GB/s over the block size, a line for each number of warps."""
    panels = {}
    ceiling = "copy" if direction == "forward" else "add"
    for dtype in DTYPES:
        wanted = {"kernel": kernel, "direction": direction}
        rows = data.rows(**wanted, dtype=dtype, n=LARGE)
        limit = data.at("figures", "ceilings", f"{ceiling} {dtype} {LARGE}")
        blocks = sorted({row["BLOCK"] for row in rows})
        ends = tuple((block, limit) for block in blocks)
        lines = [Line(ceiling, STYLES[0], ends)]
        for style, warps in zip(STYLES[1:], WARPS, strict=True):
            some = [row for row in rows if row["num_warps"] == warps]
            points = tuple(
                (data.value(row, "BLOCK"), data.value(row, "gb_per_s"))
                for row in sorted(some, key=lambda row: row["BLOCK"])
            )
            if points:
                name = f"{warps} warp{'s' if warps > 1 else ''}"
                lines.append(Line(name, style, points))
        panels[dtype] = tuple(lines)
    plot = Plot(
        f"autotune {kernel} {direction}",
        Scale("BLOCK", base=2),
        Scale("GB/s", low=0),
        panels,
    )
    return plot.figure(data.origin())


# ----------------------------------------------------------- how exact it is


def fit(data: Measurements) -> str:
    """The relative error of each fitted tail, over t."""
    panels = {}
    for name, it in data.at("fits").items():
        curve = data.at("fits", name, "curve")
        points = tuple((t, max(abs(error), 1e-40)) for t, error in curve)
        title = f"{name}, {it['terms']} coefficients"
        panels[title] = (Line("the fit", STYLES[1], points),)
    plot = Plot(
        "fit",
        Scale("t"),
        Scale("relative error", base=10, low=1e-19),
        panels,
        markers=False,
    )
    return plot.figure(data.origin())


def accuracy(data: Measurements) -> str:
    """The largest relative error in fp32 near each x."""
    panels = {}
    for direction in ("forward", "backward"):
        xs = data.at("curves", direction, "x")
        panels[direction] = tuple(
            Line(
                *WAYS[way],
                tuple(
                    (x, max(error, 1e-20))
                    for x, error in zip(
                        xs, data.at("curves", direction, way), strict=True
                    )
                    if error is not None
                ),
            )
            for way in ("teaching", "pytorch", "library")
        )
    plot = Plot(
        "accuracy",
        Scale("x", low=-13, high=5),
        Scale("relative error", base=10, low=1e-9, high=1e1),
        panels,
        markers=False,
    )
    return plot.figure(data.origin())


def rounded(data: Measurements) -> str:
    """Which part of the 16-bit results is the exact one's rounding."""
    heads = ["correctly rounded", "all", "1/64 to 13", "tail"]
    rows = []
    for dtype in ("fp16", "bf16"):
        for direction in ("forward", "backward"):
            for way in ("library", "pytorch", "teaching"):
                keys = ("figures", dtype, direction, way)
                parts = [
                    str(data.at(*keys, where))
                    for where in ("everywhere", "within", "tail")
                ]
                name = f"{dtype} {direction}, {WAYS[way][0]}"
                rows.append([name, *parts])
    return table(heads, rows) + data.origin()


def table(heads: list[str], rows: list[list[str]]) -> str:
    """Names in the first column, and figures."""

    def cells(tag: str, texts: list[str]) -> Iterator[str]:
        for place, text in enumerate(texts):
            align = ' style="text-align: right"' if place else ""
            yield f"<{tag}{align}>{escape(text)}</{tag}>"

    body = "".join(f"<tr>{''.join(cells('td', row))}</tr>" for row in rows)
    head = "".join(cells("th", heads))
    return (
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


# What a fence can ask for: the words behind the file, and who shows it.
KINDS: dict[str, tuple[tuple[str, ...], Callable[..., str]]] = {
    "throughput": (("CASE",), throughput),
    "latency": (("CASE", "DTYPE"), latency),
    "ratios": (("CASE",), ratios),
    "host": ((), host),
    "autotune": (("KERNEL", "DIRECTION"), autotune),
    "fit": ((), fit),
    "accuracy": ((), accuracy),
    "rounded": ((), rounded),
}
