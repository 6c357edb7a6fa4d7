"""The museum of traps, as Markdown: what their files say, and their runs.

A trap is a file of `triton_grad.traps`. Its docstring has fields and its
wrong lines bear a mark. A snippet runs it, and prints a section of its name.
"""

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from bookpress.definitions import Module, wrong_lines
from bookpress.press import read_values, value_of

FIELD = re.compile(r"^([A-Z][a-z ]+): ")
HEAD = re.compile(r"^== (.+) ==$", re.MULTILINE)
REPORT = re.compile(r"([\w.-]+/[\w.-]+)#(\d+)")
# What Markdown would take for markup.
MARKUP = re.compile(r"[*_<>\[\]$#&\\]")


@dataclass(frozen=True)
class Trap:
    """A deliberately wrong file.

    Attributes:
        where: The file.
        fields: What its docstring says, by field.
        source: The definitions that have a wrong line.
    """

    where: str
    fields: dict[str, str]
    source: str


@dataclass(frozen=True)
class Section:
    """What a run printed of one trap, or of a family.

    Attributes:
        name: The trap, or the family.
        values: Its labelled lines.
        report: What follows these after an empty line.
    """

    name: str
    values: dict[str, str]
    report: str

    def value(self, label: str) -> str:
        """The value of a label.

        Raises:
            PressError: the section has no such label.
        """
        return value_of(self.values, label, f"the section {self.name}")


def read_trap(module: Module) -> Trap:
    """A trap, of its file."""
    nodes = dict.fromkeys(module.definitions.values())
    texts = [text for text in map(module.text, nodes) if wrong_lines(text)]
    docstring = ast.get_docstring(module.tree) or ""
    return Trap(module.where, read_fields(docstring), "\n\n\n".join(texts))


def read_fields(docstring: str) -> dict[str, str]:
    """The fields of a docstring; an indented line goes on with the last."""
    found: dict[str, str] = {}
    name = ""
    for line in docstring.splitlines():
        if field := FIELD.match(line):
            name = field[1]
            found[name] = line[field.end() :]
        elif name and line.startswith("    "):
            found[name] += "\n" + line[4:]
        else:
            name = ""
    return found


def read_sections(output: str) -> list[Section]:
    """The sections of a run's output, in order."""
    parts = HEAD.split(output)[1:]
    return [
        _section(name, text)
        for name, text in zip(parts[::2], parts[1::2], strict=True)
    ]


def _section(name: str, text: str) -> Section:
    labelled, _, report = text.strip("\n").partition("\n\n")
    return Section(name, read_values(labelled), report)


def prose(text: str) -> str:
    """A docstring's text in Markdown: code stays code, the rest is text."""
    parts = " ".join(text.split()).split("`")
    for place in range(0, len(parts), 2):
        parts[place] = MARKUP.sub(
            lambda sign: f"&#{ord(sign[0])};", parts[place]
        )
    return "`".join(parts)


def reports(text: str) -> str:
    """Reports in public trackers, as links."""
    return REPORT.sub(
        r"[\1&#35;\2](https://github.com/\1/issues/\2)",
        " ".join(text.split()),
    )


def weak_run(section: Section) -> str:
    """The test that misses a trap, what it does and what it says."""
    name, outcome = section.value("weak test"), section.value("outcome")
    compared = prose(section.value("compares"))
    return f"`{name}` {outcome}. In its own words: {compared}"


def table_of(sections: Iterable[Section]) -> str:
    """The families and their figures, and the sums of these."""
    labels = ("traps", "tried", "named rightly")
    rows = [
        (section.name, *(int(section.value(it)) for it in labels))
        for section in sections
    ]
    sums = [sum(column) for column in list(zip(*rows, strict=True))[1:]]
    lines = ["| family | traps | run here | named rightly |"]
    lines += ["| --- | --: | --: | --: |"]
    for family, *figures in rows:
        address = family.lower().replace(" ", "-")
        lines.append(
            _row(f'<a href="#{address}">{escape(family)}</a>', *figures)
        )
    lines.append(_row(*(f"**{it}**" for it in ("all", *sums))))
    traps, tried, named = sums
    lines += ["", f"**{named} of {tried}** traps that run here are named"]
    lines += ["rightly."]
    if traps > tried:
        lines += [f"For {traps - tried} more it takes GPUs."]
    return "\n".join(lines)


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"
