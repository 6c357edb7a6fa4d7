"""check_op on ops that its rules were not written for.

`unseen/expected.json` says of each op whether it is right, and if not which
check has to fail and which cause has to be named; it was written before the
first run. Prints the report of each op that came out otherwise, and a table
last; writes unseen.json.
"""

import json
import platform
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from triton_grad.device import DEVICE
from triton_grad.testing.check import check_op
from triton_grad.testing.report import Report
from triton_grad.testing.spelled import Spelled

HERE = Path(__file__).parent
EXPECTED = HERE / "unseen" / "expected.json"


@dataclass(frozen=True)
class Outcome:
    """What check_op said of an op, and what it had to say.

    Attributes:
        name: The op's module.
        right: Whether the op is right.
        expected_check: A check that has to fail, None if the op is right.
        expected_cause: The cause to be named, None if the list has none.
        passed: What check_op said; None if it raised an error.
        failed: The checks that failed, and the cause that each named.
        diagnosis: The cause named first.
        error: What check_op raised.
        seconds: How long it took.
    """

    name: str
    right: bool
    expected_check: str | None
    expected_cause: str | None
    passed: bool | None
    failed: dict[str, str | None]
    diagnosis: str | None
    error: str | None
    seconds: float

    @property
    def found(self) -> bool:
        return self.passed is False

    @property
    def as_expected(self) -> bool:
        if self.right:
            return self.passed is True
        named = self.diagnosis == self.expected_cause
        return self.found and (self.expected_cause is None or named)


def checked(name: str, case: dict[str, Any]) -> Outcome:
    """Check one op, and print the report if it is not the expected one."""
    begin = time.monotonic()
    report, error = _report(case)
    outcome = Outcome(
        name=name,
        right=case["right"],
        expected_check=case["check"],
        expected_cause=case["cause"],
        passed=report.passed if report else None,
        failed=_causes(report) if report else {},
        diagnosis=_name(report.diagnosis) if report else None,
        error=error,
        seconds=round(time.monotonic() - begin, 1),
    )
    if not outcome.as_expected:
        print(report or error, end="\n\n", flush=True)
    return outcome


def _report(case: dict[str, Any]) -> tuple[Report | None, str | None]:
    try:
        report = check_op(
            Spelled(case["op"]),
            Spelled(case["oracle"]),
            tuple(case["inputs"]),
            kwargs=case.get("kwargs"),
            known=case.get("known"),
        )
    except Exception as error:  # an error of the tool is a result, too
        return None, f"{type(error).__name__}: {error}"
    return report, None


def _causes(report: Report) -> dict[str, str | None]:
    return {
        it.check: _name(it.failure and it.failure.cause)
        for it in report.failed
    }


def _name(cause: Any) -> str | None:
    return cause and cause.name


def figures(outcomes: list[Outcome]) -> dict[str, str]:
    """How many of how many."""
    wrong = [it for it in outcomes if not it.right]
    right = [it for it in outcomes if it.right]
    named = [it for it in wrong if it.expected_cause]

    def share(hits: list[Outcome], of: list[Outcome]) -> str:
        return f"{len(hits)} of {len(of)}"

    return {
        "wrong ops found": share([it for it in wrong if it.found], wrong),
        "by the expected check": share(
            [it for it in wrong if it.expected_check in it.failed], wrong
        ),
        "named rightly": share([it for it in named if it.as_expected], named),
        "right ops passed": share(
            [it for it in right if it.as_expected], right
        ),
    }


def provenance() -> dict[str, str]:
    git = ("git", "-C", str(HERE))
    commit = subprocess.check_output((*git, "rev-parse", "HEAD"), text=True)
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "commit": commit.strip(),
        "device": DEVICE,
        "torch": torch.__version__,
        "triton": version("triton"),
        "python": platform.python_version(),
    }


def row(it: Outcome) -> str:
    says = it.error or it.diagnosis or ", ".join(it.failed) or "right"
    due = "right" if it.right else it.expected_cause or it.expected_check
    sign = " " if it.as_expected else "!"
    return f"{sign} {it.name:26} {due!s:38} {says[:60]} ({it.seconds} s)"


def main() -> None:
    cases = json.loads(EXPECTED.read_text())
    outcomes: list[Outcome] = []
    for at, (name, case) in enumerate(cases.items(), 1):
        print(f"{at}/{len(cases)} {name}", file=sys.stderr, flush=True)
        outcomes.append(checked(name, case))
    print("  op, what it has to say, what it says")
    print(*map(row, outcomes), sep="\n")
    counts = figures(outcomes)
    print(*(f"{what}: {count}" for what, count in counts.items()), sep="\n")
    ops = {it.name: asdict(it) for it in outcomes}
    record = {**provenance(), "figures": counts, "ops": ops}
    target = HERE / "unseen.json"
    target.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
