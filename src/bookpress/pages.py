"""The fences of the book's Markdown pages, and where they stand."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from bookpress.errors import nearest
from bookpress.sources import read_text

LANGUAGES = ("snippet", "kernel", "standalone", "trap", "museum", "plot")
# What markdown-exec and the highlighter understand in such a fence.
OPTIONS = (
    "exec",
    "hl_lines",
    "html",
    "id",
    "idprefix",
    "linenums",
    "result",
    "source",
    "tabs",
    "title",
    "updatetoc",
    "width",
)
RESULTS = ("text", "mermaid")

OPTION = re.compile(r"""([a-z_]+)=(["'])(.*?)\2(?=\s|$)""")
VALUE = re.compile(
    r"""\{\{\s*value\(\s*(?:snippet\s*=\s*)?(["'])(?P<snippet>.*?)\1"""
)
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

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"


def fences(path: Path, root: Path) -> Iterator[Fence]:
    """The fenced blocks of one page, in order."""
    page = path.relative_to(root).as_posix()
    lines = enumerate(read_text(path, root).splitlines(), start=1)
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


def all_pages(root: Path) -> list[Path]:
    return sorted((root / "docs").rglob("*.md"))


def all_fences(root: Path) -> list[Fence]:
    """The fenced blocks of all pages of the book."""
    return [fence for path in all_pages(root) for fence in fences(path, root)]


def all_values(root: Path) -> Iterator[tuple[str, str]]:
    """The snippets that prose reads a value of, each with its place."""
    for path in all_pages(root):
        text = read_text(path, root)
        for found in VALUE.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            page = path.relative_to(root).as_posix()
            yield found["snippet"], f"{page}:{line}"


def wrong_fence(fence: Fence) -> str | None:
    """What is wrong with a fence's first line.

    What SuperFences and markdown-exec cannot read there they pass over, and
    the page shows the fence as it was typed.
    """
    if fence.language not in LANGUAGES:
        if get_close_matches(fence.language, LANGUAGES, cutoff=0.7):
            meant = nearest(fence.language, LANGUAGES)
            return f"no fence is called {fence.language!r}: {meant}"
        return None
    given = {name: what for name, _, what in OPTION.findall(fence.options)}
    if rest := OPTION.sub("", fence.options).strip():
        return f'cannot read {rest!r}; an option is written name="value"'
    for name in given.keys() - set(OPTIONS):
        return f"unknown option {name!r}: {nearest(name, OPTIONS)}"
    if given.get("exec") != "on":
        return f'this {fence.language} shows nothing: it lacks exec="on"'
    result = given.get("result", "text")
    if result not in RESULTS:
        return f"unknown result {result!r}: {nearest(result, RESULTS)}"
    return None
