"""What check_op found: one row a check, and a failure in full."""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """What a check found."""

    RIGHT = "right"
    WRONG = "silently wrong"
    CRASHES = "crashes"
    REFUSES = "refuses clearly"
    KNOWN = "known exception"
    NOT_TRIED = "not tried"


@dataclass(frozen=True)
class Cause:
    """Why an op fails, as its author would have to know it.

    Attributes:
        name: What it is called, in a report as in the museum of traps.
        sentence: The cause in one sentence.
        chapter: Where the book tells about it, from the site's root.
    """

    name: str
    sentence: str
    chapter: str


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
        bad = (Verdict.WRONG, Verdict.CRASHES)
        return tuple(it for it in self.results if it.verdict in bad)
