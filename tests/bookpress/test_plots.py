"""What is drawn of measurements, and what becomes of what is missing."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bookpress.book import Book
from bookpress.errors import PressError
from bookpress.fences import Fences
from bookpress.measurements import CEILINGS, WAYS, shown
from bookpress.plots import STYLES, Line, Plot, Scale

STYLESHEET = Path(__file__).parents[2] / "docs/assets/book.css"
FACTS = {
    "gpu": "A GPU <1>",
    "driver": "570.1",
    "python": "3.12",
    "torch": "2.11.0",
    "triton": "3.6.0",
    "commit": "abc1234",
    "date": "2026-01-01",
    "command": "python bench/speed.py",
}
# Microseconds for 8e6 bytes: 4000, 3000, 2000 and 1000 GB/s.
TIMES = {"ceiling": 2.0, "library": 8 / 3, "pytorch": 4.0, "teaching": 8.0}


def speed_rows() -> list[dict[str, Any]]:
    return [
        {
            "case": case,
            "way": way,
            "dtype": dtype,
            "n": n,
            "bytes": 8_000_000,
            "microseconds": time,
            "graph_microseconds": None if way == "teaching" else time / 2,
        }
        for n in (2**10, 2**28)
        for dtype in ("fp32", "fp16", "bf16")
        for way, time in TIMES.items()
        for case in (("copy", "add") if way == "ceiling" else ("gelu",))
    ]


def launch_rows() -> list[dict[str, Any]]:
    return [
        {
            "kernel": "library",
            "direction": "forward",
            "dtype": dtype,
            "n": 2**28,
            "BLOCK": block,
            "num_warps": warps,
            "gb_per_s": 1000.0 * warps + block,
        }
        for dtype in ("fp32", "fp16", "bf16")
        for block in (2048, 1024)
        for warps in (1, 4)
    ]


SPEED = {
    "provenance": FACTS,
    "rows": speed_rows(),
    "host": {
        "n": 4096,
        "microseconds": {
            "forward, bare kernel": 8.0,
            "forward, gelu_forward_op": 10.0,
            "both, gelu": 50.0,
        },
    },
}
LAUNCHES = {
    "provenance": FACTS,
    "rows": launch_rows(),
    "figures": {
        "ceilings": {
            f"copy {dtype} {2**28}": 4400.0
            for dtype in ("fp32", "fp16", "bf16")
        }
    },
}
SHARE = {"everywhere": "99.95 %", "within": "99.90 %", "tail": "98.70 %"}
ACCURACY = {
    "provenance": FACTS,
    "figures": {
        dtype: {
            direction: dict.fromkeys(
                ("library", "pytorch", "teaching"), SHARE
            )
            for direction in ("forward", "backward")
        }
        for dtype in ("fp16", "bf16")
    },
    "curves": {
        direction: {
            "x": [-12.0, -6.0, 1.0],
            "library": [2e-7, 1e-7, 0.0],
            "pytorch": [1.0, 0.5, 1e-7],
            "teaching": [None, 0.25, 1e-7],
        }
        for direction in ("forward", "backward")
    },
}
FIT = {
    "provenance": {"mpmath": "1.3.0"},
    "fits": {"SHORT": {"terms": 8, "curve": [[0.0, -2e-7], [9.0, 1e-8]]}},
}
FILES = {
    "speed.json": SPEED,
    "launches.json": LAUNCHES,
    "accuracy.json": ACCURACY,
    "fit.json": FIT,
}
EVERY = [
    "throughput speed.json gelu",
    "latency speed.json gelu fp32",
    "ratios speed.json gelu",
    "host speed.json",
    "autotune launches.json library forward",
    "accuracy accuracy.json",
    "rounded accuracy.json",
    "fit fit.json",
]
TABLES = ("ratios", "host", "rounded")
DRAWN = [body for body in EVERY if body.split()[0] not in TABLES]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "bench").mkdir()
    for name, content in FILES.items():
        (tmp_path / "bench" / name).write_text(json.dumps(content))
    return tmp_path


@pytest.fixture
def show(root: Path) -> Callable[[str], str]:
    return lambda body: shown(root, body)


def labels(html: str) -> list[str]:
    return re.findall(r'aria-label="([^"]*)"', html)


def cells(html: str) -> list[list[str]]:
    return [
        re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row)
        for row in re.findall(r"<tr>(.*?)</tr>", html)
    ]


# ------------------------------------------------------------- the page's own


@pytest.mark.parametrize("body", DRAWN)
def test_no_colour_font_or_style_but_the_page_s(
    show: Callable[[str], str], body: str
) -> None:
    html = show(body)
    assert not re.search(r"#[0-9a-fA-F]{6}\b", html)
    assert "font-family" not in html
    assert "<style" not in html
    assert "currentColor" in html
    assert re.search(r"stroke: var\(--book-backward\)", html)


@pytest.mark.parametrize("body", DRAWN)
def test_a_drawing_is_the_same_in_every_build_and_as_wide_as_the_page(
    show: Callable[[str], str], body: str
) -> None:
    html = show(body)
    assert html == show(body)
    for svg in re.findall(r"<svg[^>]*>", html):
        assert "viewBox" in svg
        assert " width=" not in svg
        assert " height=" not in svg
    assert "<metadata" not in html  # it tells the time


def test_ids_are_unique_on_a_page_and_each_reference_finds_one(
    show: Callable[[str], str],
) -> None:
    html = "".join(show(body) for body in DRAWN)
    ids = re.findall(r'\bid="([^"]*)"', html)
    assert len(ids) == len(set(ids))
    used = re.findall(r'(?:url\(#|href="#)([^")]*)', html)
    assert used
    assert set(used) <= set(ids)


def test_lines_differ_without_their_colours() -> None:
    looks = [(style.marker, style.dashes) for style in STYLES]
    assert len(set(looks)) == len(looks)
    assert len({style.dashes for style in STYLES}) == len(looks) - 1


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (
        it / 12.92 if it <= 0.04045 else ((it + 0.055) / 1.055) ** 2.4
        for it in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("style", STYLES, ids=lambda it: it.colour)
def test_each_line_stands_out_from_the_paper(scheme: int, style: Any) -> None:
    css = STYLESHEET.read_text("utf-8")

    def colour(variable: str) -> str:
        return re.findall(rf"{variable}: (#\w{{6}});", css)[scheme]

    light, dark = sorted(
        (luminance(colour(it)) for it in (style.colour, "--book-paper")),
        reverse=True,
    )
    assert (light + 0.05) / (dark + 0.05) > 3


# -------------------------------------------------------------- what is shown


def test_a_speed_is_bytes_over_time(show: Callable[[str], str]) -> None:
    fp32, fp16, bf16 = labels(show("throughput speed.json gelu"))
    assert fp32 == (
        "fp32: GB/s over elements. At 268435456: copy 4000, "
        "triton_grad 3000, PyTorch 2000, chapter 16&#x27;s kernel 1000."
    )
    assert fp16.startswith("fp16: ")
    assert bf16.startswith("bf16: ")


def test_a_ratio_is_to_the_ceiling_of_the_same_dtype(root: Path) -> None:
    rows = speed_rows()
    for row in rows:
        if row["dtype"] == "bf16" and row["case"] == "copy":
            row["microseconds"] /= 2
        if row["n"] != 2**28:
            row["microseconds"] *= 7
    path = root / "bench" / "speed.json"
    path.write_text(json.dumps(SPEED | {"rows": rows}))
    assert cells(shown(root, "ratios speed.json gelu")) == [
        ["gelu", "fp32", "fp16", "bf16"],
        ["copy", "4000 GB/s", "4000 GB/s", "8000 GB/s"],
        ["triton_grad", "0.750", "0.750", "0.375"],
        ["PyTorch", "0.500", "0.500", "0.250"],
        ["chapter 16&#x27;s kernel", "0.250", "0.250", "0.125"],
    ]


def test_a_time_of_what_no_graph_can_hold_is_left_out(
    show: Callable[[str], str],
) -> None:
    stream, graph = labels(show("latency speed.json gelu fp32"))
    assert "At 1024: triton_grad 2.67, PyTorch 4, chapter" in stream
    assert graph.endswith("At 1024: triton_grad 1.33, PyTorch 2.")


def test_a_host_s_time_is_compared_with_the_bare_launch(
    show: Callable[[str], str],
) -> None:
    assert cells(show("host speed.json")) == [
        ["n = 4096", "µs per call", "of bare"],
        ["forward, bare kernel", "8.0", "1.00"],
        ["forward, gelu_forward_op", "10.0", "1.25"],
        ["both, gelu", "50.0", ""],
    ]


def test_launches_are_a_line_for_each_number_of_warps(
    show: Callable[[str], str],
) -> None:
    html = show("autotune launches.json library forward")
    assert labels(html)[2] == (
        "bf16: GB/s over BLOCK. At 2048: copy 4400, 1 warp 3048, "
        "4 warps 6048."
    )


def test_errors_are_drawn_where_there_are_any(
    show: Callable[[str], str],
) -> None:
    forward, _ = labels(show("accuracy accuracy.json"))
    assert forward.startswith("forward: relative error over x. At 1: ")
    assert "At 9: the fit 1e-08." in labels(show("fit fit.json"))[0]
    row = ["fp16 forward, triton_grad", *SHARE.values()]
    assert cells(show("rounded accuracy.json"))[1] == row


def test_a_line_is_where_its_points_are() -> None:
    """Twice as far along a logarithmic axis is twice as far in the SVG."""
    points = ((1.0, 0.0), (4.0, 1.0), (16.0, 2.0))
    plot = Plot(
        "it",
        Scale("n", base=2, low=1, high=16),
        Scale("y", low=0, high=2),
        {"panel": (Line("line", STYLES[1], points),)},
        markers=False,
    )
    html = plot.figure("")
    (path,) = re.findall(r'<path d="(M[^"]*)"[^>]*var\(--book-back', html)
    (x0, y0), (x1, y1), (x2, y2) = (
        map(float, it) for it in re.findall(r"([\d.]+) ([\d.]+)", path)
    )
    assert x1 - x0 == pytest.approx(x2 - x1)
    assert y0 - y1 == pytest.approx(y1 - y2)
    assert x0 < x1
    assert y0 > y1  # downwards in an SVG


@pytest.mark.parametrize("body", EVERY)
def test_what_it_was_measured_on_stands_below(
    show: Callable[[str], str], body: str
) -> None:
    told = re.findall(r'<p class="output-meta">(.*?)</p>$', show(body))
    name = body.split()[1]
    if name == "fit.json":
        assert told == ["bench/fit.json · mpmath 1.3.0"]
    else:
        assert told == [
            f"bench/{name} · A GPU &lt;1&gt; · driver 570.1 · torch 2.11.0 "
            "· triton 3.6.0 · commit abc1234 · 2026-01-01"
        ]


def test_every_way_and_case_that_is_timed_has_its_look() -> None:
    speed = (STYLESHEET.parents[2] / "bench/speed.py").read_text("utf-8")
    cases = set(re.findall(r'Case\(\s*"(\w+)"', speed))
    assert cases == {*CEILINGS, *CEILINGS.values()}
    for way in WAYS:
        assert f'"{way}": ' in speed


# ------------------------------------------------------------ what is missing


def without(content: Any, *keys: Any) -> Any:
    copy = json.loads(json.dumps(content))
    inner = copy
    for key in keys[:-1]:
        inner = inner[key]
    del inner[keys[-1]]
    return copy


@pytest.mark.parametrize(
    ("body", "content", "message"),
    [
        ("throughput lost.json gelu", None, "bench/lost.json: FileNotFound"),
        ("throughput speed.json gelo", SPEED, "no case 'gelo'"),
        ("throughput speed.json chain", SPEED, "no row of case chain"),
        ("throughput speed.json", SPEED, "throughput FILE.json CASE"),
        ("troughput speed.json gelu", SPEED, "no plot 'troughput'"),
        ("ratios speed.json gelu", {"rows": []}, "no row of case copy"),
        ("ratios speed.json gelu", {}, "bench/speed.json has no rows"),
        ("host speed.json", without(SPEED, "host", "n"), "has no host, n"),
        (
            "host speed.json",
            without(SPEED, "provenance", "driver"),
            "has no provenance, driver",
        ),
        (
            "throughput speed.json gelu",
            without(SPEED, "rows", 0, "microseconds"),
            "has no number 'microseconds'",
        ),
        (
            "accuracy accuracy.json",
            without(ACCURACY, "curves", "backward", "library"),
            "has no curves, backward, library",
        ),
        (
            "rounded accuracy.json",
            without(ACCURACY, "figures", "bf16"),
            "has no figures, bf16",
        ),
        ("autotune launches.json erf forward", LAUNCHES, "no row of kernel"),
        (
            "autotune launches.json library forward",
            without(LAUNCHES, "figures"),
            "has no figures",
        ),
    ],
)
def test_what_is_missing_is_an_error_that_names_it(
    root: Path, body: str, content: Any, message: str
) -> None:
    if content is not None:
        path = root / "bench" / body.split()[1]
        path.write_text(json.dumps(content))
    with pytest.raises(PressError, match=re.escape(message)):
        shown(root, body)


def test_a_fence_that_cannot_be_shown_is_a_problem_at_its_place(
    root: Path,
) -> None:
    book = cast(Book, SimpleNamespace(root=root, problems=[]))
    plot = Fences(book, place=str, link=str).formatters()["plot"]
    assert "<svg" in plot(code="fit fit.json\n")
    assert book.problems == []
    told = plot(code="fit other.json\n")
    (problem,) = book.problems
    assert "bench/other.json: FileNotFoundError" in told
    page = '```plot exec="on"\nfit fit.json\n```\n\n'
    found = re.search(
        problem.place, page + '```plot exec="on"\nfit other.json\n```'
    )
    assert found
    assert found.start() == len(page)
