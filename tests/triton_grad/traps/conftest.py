"""A trap's source as its own docstring mends it."""

import inspect
import re
from collections.abc import Callable
from types import ModuleType

import pytest

WRONG = "  # wrong"


def fix_in(docstring: str) -> list[str]:
    """The field's first line, and those below without its indent."""
    _, _, text = docstring.split("\n\n")[1].partition("\nFix: ")
    return [line.removeprefix("    ") for line in text.splitlines()]


def with_fix(trap: ModuleType) -> str:
    """The trap's source with its marked lines replaced by the fix.

    Each of several marked lines stands for one of the fix; a single one
    stands for all of it.
    """
    fix = fix_in(trap.__doc__ or "")
    lines = inspect.getsource(trap).splitlines()
    marked = [i for i, line in enumerate(lines) if line.endswith(WRONG)]
    assert marked, "no line is marked as wrong"
    parts = [fix] if len(marked) == 1 else [[line] for line in fix]
    for i, part in zip(marked, parts, strict=True):
        indent = re.match(" *", lines[i])
        assert indent is not None
        lines[i] = "\n".join(indent[0] + line for line in part)
    return "\n".join(lines) + "\n"


@pytest.fixture
def fixed_source() -> Callable[[ModuleType], str]:
    return with_fix
