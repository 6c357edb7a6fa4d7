"""What check_op found: one row a check, and a failure in full."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from io import StringIO

from rich.box import Box
from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from triton_grad.testing.causes import CAUSES, LEAST_TELLING, Cause

LOG_WIDTH = 100

# Dashes under the head and nothing else, so that any log can show it.
RULED_HEAD = Box("    \n    \n -  \n" + "    \n" * 5, ascii=True)


class Verdict(StrEnum):
    """What a check found."""

    RIGHT = "right"
    WRONG = "silently wrong"
    CRASHES = "crashes"
    REFUSES = "refuses clearly"
    KNOWN = "known exception"
    NOT_TRIED = "not tried"


# What fails a report.
BAD = (Verdict.WRONG, Verdict.CRASHES)

STYLES = {
    Verdict.RIGHT: "green",
    Verdict.WRONG: "bold red",
    Verdict.CRASHES: "bold magenta",
    Verdict.REFUSES: "cyan",
    Verdict.KNOWN: "yellow",
    Verdict.NOT_TRIED: "dim",
}


@dataclass(frozen=True)
class Failure:
    """The smallest input found on which a check fails.

    Attributes:
        call: The input in words: shapes, dtypes, layouts, the gradient.
        where: Which elements differ.
        got: What the op gave there, or the exception it raised.
        expected: What the oracle gives there.
        cause: The likely cause, None if nothing is known of it.
    """

    call: str
    where: str
    got: str
    expected: str
    cause: Cause | None = None


@dataclass(frozen=True)
class Result:
    """One check's result.

    Attributes:
        check: The check's name.
        verdict: What it found.
        note: What was tried, or why nothing was, or what is known.
        failure: The smallest failing input, if it failed.
        seconds: How long the check took.
    """

    check: str
    verdict: Verdict
    note: str = ""
    failure: Failure | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class Report:
    """All results of one op.

    Attributes:
        op: The op's name.
        oracle: The oracle's name.
        device: What it ran on.
        results: One a check, in the order in which they ran.
    """

    op: str
    oracle: str
    device: str
    results: tuple[Result, ...]

    @property
    def passed(self) -> bool:
        """Whether no check found the op wrong or crashing."""
        return not self.failed

    @property
    def failed(self) -> tuple[Result, ...]:
        """The results that say the op is wrong or crashes."""
        return tuple(it for it in self.results if it.verdict in BAD)

    @property
    def diagnosis(self) -> Cause | None:
        """The most telling of the likely causes, None if none is known."""
        return next(iter(self._failed_by_cause()), None)

    def table(self) -> str:
        """One row a check, in plain text."""
        return _plain(self._rows())

    def summary(self) -> str:
        """How many checks there are of each verdict."""
        found = self._counts().items()
        counts = [f"{count} {verdict}" for verdict, count in found]
        return ", ".join(counts) or "no checks"

    def __str__(self) -> str:
        return _plain(self._whole())

    def print(self, console: Console) -> None:
        """Print what `str()` gives, with a colour for each verdict.

        Args:
            console: Rich's console, as wide as the report shall be.
        """
        console.print(self._whole())

    def to_json(self) -> str:
        """All fields, what follows from them, and the time of each check."""
        derived = {
            "passed": self.passed,
            "diagnosis": self.diagnosis and asdict(self.diagnosis),
            "counts": self._counts(),
        }
        return json.dumps({**asdict(self), **derived}, indent=2)

    def assert_right(self) -> None:
        """Say nothing if no check found the op wrong: one line in a test.

        Raises:
            AssertionError: A check did; the message is the whole report.
        """
        __tracebackhide__ = True  # pytest shows the line of the test
        if not self.passed:
            raise AssertionError(str(self))

    def _counts(self) -> dict[Verdict, int]:
        found = [it.verdict for it in self.results]
        return {it: found.count(it) for it in Verdict if it in found}

    def _failed_by_cause(self) -> dict[Cause | None, list[Result]]:
        """The failed results of each cause, the most telling cause first."""
        ranks = {cause.name: rank for rank, cause in enumerate(CAUSES)}
        groups: dict[Cause | None, list[Result]] = {}
        for result in self.failed:
            cause = result.failure.cause if result.failure else None
            groups.setdefault(cause, []).append(result)

        def rank(cause: Cause | None) -> float:
            unknown = ranks[LEAST_TELLING] - 0.5
            if cause is None:
                return unknown
            return ranks.get(cause.name, unknown - 0.25)

        return {cause: groups[cause] for cause in sorted(groups, key=rank)}

    def _whole(self) -> Group:
        title = Text(f"{self.op} against {self.oracle}, on {self.device}")
        failed = self._failed_by_cause().items()
        parts = [part for group in failed for part in _explain(*group)]
        return Group(title, "", self._rows(), "", *parts, self._last_line())

    def _rows(self) -> Table:
        table = Table(
            box=RULED_HEAD,
            padding=(0, 1, 0, 0),
            pad_edge=False,
            show_edge=False,
        )
        table.add_column("check", overflow="fold")
        table.add_column("verdict", no_wrap=True)
        table.add_column("note", overflow="fold")
        for result in self.results:
            table.add_row(
                Text(result.check), _verdict(result), Text(result.note)
            )
        return table

    def _last_line(self) -> Text:
        return Text(self.summary(), style="green" if self.passed else "red")


def _verdict(result: Result) -> Text:
    return Text(result.verdict, style=STYLES[result.verdict])


def _explain(
    cause: Cause | None, results: list[Result]
) -> Iterator[Text | Table | Padding | str]:
    """The cause, once, and below it each check that found it."""
    if cause is None:
        yield Text("Likely cause: not known", style="bold")
    else:
        yield Text(f"Likely cause: {cause.name}", style="bold")
        yield Padding(Text(cause.sentence), (0, 0, 0, 2))
        yield Padding(Text(f"The book: {cause.chapter}"), (0, 0, 0, 2))
    yield ""
    for result in results:
        yield Padding(_story(result), (0, 0, 0, 2))
        yield ""


def _story(result: Result) -> Group:
    """What a check tried, and where it got what."""
    head = Text.assemble(f"{result.check}: ", _verdict(result))
    if result.failure is None:
        return Group(head)
    lines = Table.grid(padding=(0, 2))
    lines.add_column(no_wrap=True)
    lines.add_column(overflow="fold")
    for name, text in (
        ("input", result.failure.call),
        ("where", result.failure.where),
        ("got", result.failure.got),
        ("expected", result.failure.expected),
    ):
        if text:
            lines.add_row(f"  {name}", Text(text))
    return Group(head, lines)


def _plain(part: Group | Table) -> str:
    """As any log shows it, whatever the terminal and the environment."""
    page = StringIO()
    console = Console(
        file=page,
        width=LOG_WIDTH,
        color_system=None,
        force_jupyter=False,
    )
    console.print(part)
    lines = (line.rstrip() for line in page.getvalue().splitlines())
    return "\n".join(lines)
