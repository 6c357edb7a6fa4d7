"""Compare an output with the recorded one; accept a new one."""

import difflib
import os
import re
import tempfile
from pathlib import Path

from bookpress.snippet import Settings

# As long as a pointer is: 8 digits can be the bits of a number.
ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{10,14}\b")
FRAME = re.compile(r'^(\s+File ").+(", line )\d+')


def masked(output: str, root: Path) -> str:
    """The output without what differs on every machine: addresses, paths."""
    output = output.replace(f"{root}/", "")
    return ADDRESS.sub("0x…", output)


def write_whole(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def label_of(line: str) -> str:
    """The label of a `label: value` line, or nothing."""
    label, colon, _ = line.partition(":")
    return label.strip() if colon else ""


def _without_place(line: str) -> str:
    """A traceback's line without file and number: every copy has its own."""
    return FRAME.sub(r"\1…\2…", line)


def _same_line(want: str, got: str, settings: Settings) -> bool:
    if _without_place(want) == _without_place(got):
        return True
    label = label_of(want)
    if label and label in settings.varies:
        return label == label_of(got)
    # Slow to import, seldom needed, and missing where a GPU is recorded.
    from pytest_doctestplus.output_checker import FLOAT_CMP, OutputChecker

    checker = OutputChecker()
    checker.rtol, checker.atol = settings.rtol, settings.atol
    if label in settings.loose:
        checker.rtol, checker.atol = settings.loose[label], 0.0
    return checker.check_output(want, got, FLOAT_CMP)


def merged(want: str, got: str, settings: Settings) -> str:
    """The recorded output with just those lines replaced that drifted."""
    old, new = want.splitlines(), got.splitlines()
    if len(old) != len(new):
        return got
    pairs = zip(old, new, strict=True)
    return "".join(
        (a if _same_line(a, b, settings) else b) + "\n" for a, b in pairs
    )


def drift(
    want: str,
    got: str,
    settings: Settings,
    names: tuple[str, str] = ("recorded", "this run"),
) -> list[str]:
    """What differs beyond tolerance, as the lines of a diff; empty if none.

    Args:
        want: The recorded output.
        got: The output of this run.
        settings: The tolerances.
        names: What the two are called.
    """
    now = merged(want, got, settings)
    if now == want:
        return []
    lines = difflib.unified_diff(
        want.splitlines(), now.splitlines(), *names, "", "", 2
    )
    return [line.rstrip("\n") for line in lines]
