"""The fences of the book's Markdown pages, and where they stand."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,}|~{3,})(?P<info>[^`]*)$")


@dataclass(frozen=True)
class Fence:
    """A fenced block of a page.

    Attributes:
        page: The page's path below the project's root.
        line: The line of the opening fence, from 1.
        language: The first word behind the opening fence.
        options: What follows it.
        body: The lines inside, without the fence's indentation.
    """

    page: str
    line: int
    language: str
    options: str
    body: tuple[str, ...]


def fences(path: Path, root: Path) -> Iterator[Fence]:
    """The fenced blocks of one page, in order."""
    page = path.relative_to(root).as_posix()
    lines = enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
    for number, line in lines:
        if opening := FENCE.match(line):
            indent, ticks = len(opening["indent"]), opening["ticks"]
            body = []
            for _, inner in lines:
                if inner.strip().startswith(ticks):
                    break
                body.append(inner[indent:])
            language, _, options = opening["info"].strip().partition(" ")
            yield Fence(page, number, language, options, tuple(body))


def all_fences(root: Path) -> list[Fence]:
    """The fenced blocks of all pages of the book."""
    paths = sorted((root / "docs").rglob("*.md"))
    return [fence for path in paths for fence in fences(path, root)]
