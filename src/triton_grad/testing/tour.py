"""A tour of the museum: each trap before the test it passes and check_op."""

import torch
from rich.console import Console

from triton_grad.device import DEVICE
from triton_grad.testing.check import check_op
from triton_grad.testing.museum import EXHIBITS, Exhibit
from triton_grad.testing.report import Report
from triton_grad.testing.watch import watch

# As wide as a page shows code.
COLUMNS = 78
FIRST_CAUSE = "Likely cause: "


def show_family(family: str) -> None:
    """Print a section for each trap of a family, and the family's figures.

    Args:
        family: One of the museum's `FAMILIES`.
    """
    exhibits = [it for it in EXHIBITS if it.family == family]
    tried, named = 0, 0
    for exhibit in exhibits:
        show_weak_test(exhibit)
        if can_be_caught_here(exhibit):
            tried += 1
            named += show_check(exhibit)
        else:
            print(f"needs: {exhibit.needs}")
        print()
    print(f"== {family} ==")
    print(f"traps: {len(exhibits)}")
    print(f"tried: {tried}")
    print(f"named rightly: {named}")


def show_weak_test(exhibit: Exhibit) -> None:
    """Print what the test is that misses the trap, and what it says."""
    weak_test = exhibit.misses
    sentence, *_ = (weak_test.__doc__ or "").splitlines()
    print(f"== {exhibit.name} ==")
    print(f"weak test: {weak_test.__name__}")
    print(f"compares: {sentence}")
    print(f"outcome: {'passes' if passes(exhibit) else 'fails'}")


def passes(exhibit: Exhibit) -> bool:
    """Whether the museum's weak test finds nothing wrong with the trap."""
    try:
        # Watched, autotune makes its trials where nothing measures time.
        with watch(undefined="zero"):
            exhibit.misses(exhibit.op, exhibit.oracle, exhibit.inputs)
    except AssertionError:
        return False
    return True


def can_be_caught_here(exhibit: Exhibit) -> bool:
    """Whether this machine has what the trap needs to show."""
    gpus = torch.cuda.device_count() if DEVICE == "cuda" else 0
    return (
        gpus >= {"interpreter": 0, "a GPU": 1, "two GPUs": 2}[exhibit.needs]
    )


def show_check(exhibit: Exhibit) -> bool:
    """Print what check_op finds; say whether it names the trap's cause."""
    report = check_op(
        exhibit.op, exhibit.oracle, exhibit.inputs, **exhibit.options
    )
    cause = report.diagnosis
    print(f"cause: {exhibit.cause}")
    print(f"check_op says: {cause.name if cause else 'not known'}")
    if cause:
        print(f"told in: {cause.chapter}")
    print()
    print(telling_part(report))
    return cause is not None and cause.name == exhibit.cause


def telling_part(report: Report) -> str:
    """Of a report the likeliest cause, what found it, and the last line."""
    console = Console(width=COLUMNS, color_system=None)
    with console.capture() as page:
        report.print(console)
    lines = [line.rstrip() for line in page.get().splitlines()]
    starts = [
        number
        for number, line in enumerate(lines)
        if line.startswith(FIRST_CAUSE)
    ]
    first, end, *_ = [*starts, len(lines) - 1, len(lines) - 1]
    return "\n".join([*lines[first:end], lines[-1]])
