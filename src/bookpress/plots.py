"""Panels of lines, as SVG that takes its colours and fonts from the page.

Matplotlib draws them in colours that stand for the page's own; these are put
in their place afterwards, as CSS variables, so that one drawing is right in
light and in dark. Each line has a dash and a marker of its own, too.
"""

import itertools
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from io import StringIO
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "bookpress",  # the same ids in every build
    "path.simplify": False,
}
INK = "#000001"
# A panel's width in the drawing's own units, by how many of them stand side
# by side on a wide screen: there, a unit is a pixel or so.
WIDTHS = {1: 460.0, 2: 330.0, 3: 225.0}
TEXT = 12.0
LEFT, RIGHT, TOP, BOTTOM = 40.0, 6.0, 42.0, 40.0

STYLE = re.compile(r"<style.*?</style>", re.DOTALL)
FONT = re.compile(r"font-family: [^;\"]*; ")
POWER = re.compile(r">(\d+)\^(-?\d+)<")
NAMES = re.compile(r'(\bid="|url\(#|href="#)')


@dataclass(frozen=True)
class Style:
    """How a line is drawn: by a variable of the page's styles."""

    colour: str
    marker: str
    dashes: str | tuple[float, tuple[float, ...]]

    def placeholder(self) -> str:
        """The colour that stands for this one until the page is known."""
        return f"#0000{16 + STYLES.index(self):02x}"


STYLES = (
    Style("--book-soft", "", (0, (5, 2.5))),
    Style("--book-backward", "o", "-"),
    Style("--book-forward", "s", "-"),
    Style("--book-crash", "^", (0, (1.2, 1.6))),
    Style("--book-good", "D", (0, (6, 1.5, 1.2, 1.5))),
    Style("--book-wrong", "v", (0, (3, 1.5))),
)


@dataclass(frozen=True)
class Line:
    """A line of a panel.

    Attributes:
        name: What the key calls it.
        style: How it is drawn.
        points: Pairs of x and y, by rising x.
    """

    name: str
    style: Style
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Scale:
    """One of the two axes, of all panels of a plot.

    Attributes:
        name: What runs along it.
        base: That of a logarithmic scale; 0 for a plain one.
        low: Where it begins; None for the least value.
        high: Where it ends, likewise.
    """

    name: str
    base: int = 0
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Plot:
    """Panels with the same axes.

    Attributes:
        name: What tells its ids from another plot's.
        x: Its horizontal scale.
        y: Its vertical scale.
        panels: Lines by the title of their panel.
        markers: Whether points are few enough to be marked.
    """

    name: str
    x: Scale
    y: Scale
    panels: dict[str, tuple[Line, ...]]
    markers: bool = True

    def figure(self, origin: str) -> str:
        """The plot as HTML, with a key and a line that tells its origin."""
        count = min(len(self.panels), 3)
        panels = [
            self._panel(title, lines, WIDTHS[count])
            for title, lines in self.panels.items()
        ]
        return (
            f'<figure class="plot" data-search-exclude data-panels="{count}">'
            f"{self._key()}"
            f'<div class="plot-panels">{"".join(panels)}</div>'
            f"</figure>{origin}"
        )

    def _panel(self, title: str, lines: Iterable[Line], width: float) -> str:
        height = 0.45 * width + TOP + BOTTOM
        figure, axes = _canvas(width, height)
        _frame(axes, width, height)
        for line in lines:
            _trace(axes, line, self.markers)
        self._scale_axes(axes, lines)
        # Upright, above its axis: read without turning the head.
        _above(axes, 24, title, "bold")
        _above(axes, 7, self.y.name, "normal")
        told = f"{title}: {self.y.name} over {self.x.name}. {_ends(lines)}"
        return _svg(figure, f"{self.name} {title}", told)

    def _scale_axes(self, axes: Axes, lines: Iterable[Line]) -> None:
        """Each panel has its own x, and all have the same y."""
        everywhere = itertools.chain(*self.panels.values())
        low, high = _limits(self.x, [x for x, _ in _points(lines)])
        axes.set_xlim(low, high)
        _ticks(axes, "x", self.x, low, high)
        low, high = _limits(self.y, [y for _, y in _points(everywhere)])
        axes.set_ylim(low, high)
        _ticks(axes, "y", self.y, low, high)
        axes.set_xlabel(self.x.name, labelpad=2, fontsize=TEXT, color=INK)

    def _key(self) -> str:
        found = {
            line.name: line.style
            for line in itertools.chain(*self.panels.values())
        }
        if len(found) == 1:
            return ""
        items = "".join(
            f"<li>{self._sample(name, style)}{escape(name)}</li>"
            for name, style in found.items()
        )
        return f'<ul class="plot-key">{items}</ul>'

    def _sample(self, name: str, style: Style) -> str:
        figure, axes = _canvas(36, 10)
        axes.set_position((0, 0, 1, 1))
        axes.set_axis_off()
        points = ((0.0, 0.0), (1.0, 0.0), (2.0, 0.0))
        _trace(axes, Line(name, style, points), self.markers, every=(1, 9))
        axes.set_xlim(0, 2)
        return _svg(figure, f"{self.name} key {name}", None)


def _canvas(width: float, height: float) -> tuple[Figure, Axes]:
    """An empty drawing; matplotlib's inches are 72 of its units."""
    with rc_context(SETTINGS):
        figure = Figure(figsize=(width / 72, height / 72))
        axes = figure.add_subplot()
    figure.patch.set_visible(False)
    axes.patch.set_visible(False)
    return figure, axes


def _frame(axes: Axes, width: float, height: float) -> None:
    """Space for the labels, and no more lines than needed."""
    across, up = width - LEFT - RIGHT, height - TOP - BOTTOM
    axes.set_position(
        (LEFT / width, BOTTOM / height, across / width, up / height)
    )
    for side, spine in axes.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(INK)
    axes.tick_params(colors=INK, labelsize=TEXT)
    axes.tick_params(axis="x", length=3, pad=4)
    axes.tick_params(axis="y", length=0, pad=3)
    axes.grid(axis="y", color=INK, alpha=0.15, linewidth=0.8)


def _above(axes: Axes, units: float, text: str, weight: str) -> None:
    axes.annotate(
        text,
        (0, 1),
        (0, units),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=TEXT,
        fontweight=weight,
        color=INK,
    )


def _points(lines: Iterable[Line]) -> Iterator[tuple[float, float]]:
    return itertools.chain.from_iterable(line.points for line in lines)


def _trace(
    axes: Axes, line: Line, marked: bool, every: object = None
) -> None:
    xs, ys = zip(*line.points, strict=True)
    style = line.style
    axes.plot(
        xs,
        ys,
        color=style.placeholder(),
        linestyle=style.dashes,
        linewidth=1.5,
        marker=style.marker if marked else "",
        markersize=4,
        markevery=every,
        dash_capstyle="butt",
    )


def _limits(scale: Scale, values: list[float]) -> tuple[float, float]:
    """The two ends, with space for a marker where none is given."""
    low, high = min(values), max(values)
    space = scale.base**0.3 if scale.base else 0.05 * (high - low)
    if scale.low is not None:
        low = scale.low
    else:
        low = low / space if scale.base else low - space
    if scale.high is not None:
        high = scale.high
    else:
        high = high * space if scale.base else high + space
    return low, high


def _ticks(
    axes: Axes, which: str, scale: Scale, low: float, high: float
) -> None:
    axis = axes.xaxis if which == "x" else axes.yaxis
    if not scale.base:
        axis.set_major_formatter(FuncFormatter(lambda it, _: _plain(it)))
        return
    getattr(axes, f"set_{which}scale")("log", base=scale.base)
    first, last = (math.log(it, scale.base) for it in (low, high))
    powers = range(math.ceil(first - 1e-9), math.floor(last + 1e-9) + 1)
    step = 1 + (len(powers) - 1) // 6
    shown = [float(scale.base) ** power for power in powers[::step]]
    labels = dict(zip(shown, powers[::step], strict=True))
    axis.set_major_locator(FixedLocator(shown))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(
        FuncFormatter(lambda it, _: f"{scale.base}^{labels[it]}")
    )


def _plain(number: float) -> str:
    return f"{number:g}".replace("-", "−")


def _ends(lines: Iterable[Line]) -> str:
    """Where each line ends, for who cannot see it."""
    ends = [f"{it.name} {_spoken(it.points[-1][1])}" for it in lines]
    at = _spoken(next(iter(lines)).points[-1][0])
    return f"At {at}: {', '.join(ends)}."


def _spoken(number: float) -> str:
    return f"{number:.0f}" if abs(number) >= 100 else f"{number:.3g}"


def _svg(figure: Figure, name: str, told: str | None) -> str:
    """The drawing as an element of the page that holds it."""
    stream = StringIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with rc_context(SETTINGS):
        figure.savefig(stream, format="svg", metadata=nothing)
    text = stream.getvalue()
    text = text[text.index("<svg") :].strip()
    head, _, body = text.partition(">")
    box = re.search(r'viewBox="[^"]*"', head)
    assert box is not None
    # In a page a style would hold for all of it.
    body = FONT.sub("", STYLE.sub("", body))
    body = POWER.sub(_power, body)
    for style in STYLES:
        body = body.replace(style.placeholder(), f"var({style.colour})")
    body = body.replace(INK, "currentColor")
    prefix = re.sub(r"\W+", "-", name)
    body = NAMES.sub(rf"\g<1>{prefix}-", body)
    role = 'aria-hidden="true"'
    if told is not None:
        role = f'role="img" aria-label="{escape(told)}"'
    return f"<svg {box[0]} {role}>{body}"


def _power(found: re.Match[str]) -> str:
    base, exponent = found[1], found[2].replace("-", "−")
    raised = f'<tspan dy="-0.4em" font-size="0.75em">{exponent}</tspan>'
    return f">{base}{raised}<"
