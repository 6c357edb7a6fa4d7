"""One snippet: its path, its source and what its metadata says."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from bookpress.errors import PressError, nearest
from bookpress.sources import read_text

DEVICES = ("interpreter", "cuda")
BLOCK_KEYS = ("dependencies", "requires-python", "tool")
LONGEST = 3600  # seconds; what runs longer belongs in no build
BADGES = ("wrong number", "crash", "refuses")

# The regular expression of PEP 723's reference implementation, by its rule:
# a comment block that starts with `# /// script` and ends with `# ///`.
SCRIPT_BLOCK = re.compile(
    r"^# /// script\n(?P<content>(?:^#(?:| .*)\n)+?)^# ///\n?", re.MULTILINE
)

# What is said to a linter is not said to a reader.
LINT_REMARK = re.compile(r"  # (pyright|noqa|type):.*$", re.MULTILINE)


@dataclass(frozen=True)
class Settings:
    """What a snippet's metadata says for one device.

    Attributes:
        exit_code: Expected exit code, as a shell gives it (128 + signal).
        timeout: Seconds after which the run is ended.
        devices: Where the snippet runs.
        rtol: Relative tolerance for numbers in the output.
        atol: Absolute tolerance for numbers in the output.
        loose: A relative tolerance of its own for a label.
        varies: Labels whose value is shown but not compared.
        fails: How the wrong kernel fails, for its badge.
        differs: Why a GPU prints something else than the interpreter.
        undisturbed: Whether nothing else may run beside it.
        not_in_chapter_file: Why the chapter's program leaves it out.
        self_contained: Whether a program with all that it uses is written.
    """

    exit_code: int = 0
    timeout: float = 60.0
    devices: tuple[str, ...] = DEVICES
    rtol: float = 1e-4
    atol: float = 1e-7
    loose: Mapping[str, float] = field(default_factory=dict)
    varies: tuple[str, ...] = ()
    fails: str | None = None
    differs: str | None = None
    undisturbed: bool = False
    not_in_chapter_file: str | None = None
    self_contained: bool = True


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("a number")
    if not 0 <= value < float("inf"):
        raise TypeError("a number that is finite and not negative")
    return float(value)


def _exit_code(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError("a whole number from 0 to 255")
    if not 0 <= value <= 255:
        raise TypeError("a whole number from 0 to 255")
    return value


def _timeout(value: Any) -> float:
    if not 0 < _number(value) <= LONGEST:
        raise TypeError(f"more than 0 and at most {LONGEST} seconds")
    return float(value)


def _strings(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(
        isinstance(item, str) for item in value
    ):
        raise TypeError("a list of strings")
    return tuple(value)


def _devices(value: Any) -> tuple[str, ...]:
    devices = _strings(value)
    if not devices or not set(devices) <= set(DEVICES):
        raise TypeError(f"a list of devices out of {', '.join(DEVICES)}")
    return devices


def _loose(value: Any) -> Mapping[str, float]:
    if not isinstance(value, dict):
        raise TypeError("a table of label = relative tolerance")
    return {label: _number(number) for label, number in value.items()}


def _badge(value: Any) -> str:
    if value not in BADGES:
        raise TypeError(f"one of {', '.join(map(repr, BADGES))}")
    return value


def _reason(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise TypeError("a sentence")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError("true or false")
    return value


READERS = {
    "exit-code": _exit_code,
    "timeout": _timeout,
    "devices": _devices,
    "rtol": _number,
    "atol": _number,
    "loose": _loose,
    "varies": _strings,
    "fails": _badge,
    "differs": _reason,
    "undisturbed": _flag,
    "not-in-chapter-file": _reason,
    "self-contained": _flag,
}


def _for_device(value: Any, device: str) -> Any:
    """`{interpreter = 139, cuda = 0}` says a value per device."""
    if isinstance(value, dict) and value and set(value) <= set(DEVICES):
        return value.get(device)
    return value


@dataclass(frozen=True)
class Snippet:
    """A runnable file `snippets/<name>.py` of the project at `root`."""

    name: str
    root: Path

    @property
    def path(self) -> Path:
        return self.root / "snippets" / f"{self.name}.py"

    @property
    def chapter(self) -> str:
        return self.name.split("/")[0]

    @property
    def relative(self) -> str:
        return f"snippets/{self.name}.py"

    @cached_property
    def source(self) -> str:
        return read_text(self.path, self.root)

    @property
    def shown_source(self) -> str:
        """The source as a reader sees it: without the metadata block."""
        return LINT_REMARK.sub("", without_metadata(self.source)).strip()

    def output_path(self, device: str) -> Path:
        """Where the output recorded on a device stands."""
        return self.path.with_name(f"{self.path.stem}.{device}.out")

    def settings(self, device: str = "interpreter") -> Settings:
        """Read the metadata, for one device.

        Raises:
            PressError: a key or a value is not valid.
        """
        found = {}
        table = self._table()
        self._refuse_unknown(table, READERS, "[tool.bookpress]")
        for key, value in table.items():
            chosen = _for_device(value, device)
            if chosen is None:
                continue
            try:
                found[key.replace("-", "_")] = READERS[key](chosen)
            except TypeError as wanted:
                raise PressError(
                    f"{self.relative}: {key} = {chosen!r} in "
                    f"[tool.bookpress]: it takes {wanted}"
                ) from None
        return Settings(**found)

    def _table(self) -> dict[str, Any]:
        block = SCRIPT_BLOCK.search(self.source)
        if block is None:
            if "[tool.bookpress]" in self.source:
                raise PressError(
                    f"{self.relative}: [tool.bookpress] stands outside a "
                    "PEP 723 block (# /// script … # ///)"
                )
            return {}
        lines = block["content"].splitlines()
        content = "\n".join(line[2:] for line in lines)
        try:
            metadata = tomllib.loads(content)
        except tomllib.TOMLDecodeError as error:
            raise PressError(
                f"{self.relative}: the PEP 723 block is no TOML: {error}"
            ) from None
        self._refuse_unknown(metadata, BLOCK_KEYS, "the PEP 723 block")
        tool = metadata.get("tool", {})
        self._refuse_unknown(tool, ("bookpress",), "[tool]")
        return tool.get("bookpress", {})

    def _refuse_unknown(
        self, table: Any, valid: Iterable[str], where: str
    ) -> None:
        if not isinstance(table, dict):
            raise PressError(f"{self.relative}: {where} must be a table")
        for key in sorted(table.keys() - set(valid)):
            raise PressError(
                f"{self.relative}: unknown key {key!r} in {where}: "
                f"{nearest(key, valid)}"
            )


def without_metadata(source: str) -> str:
    """A source without its PEP 723 block."""
    if block := SCRIPT_BLOCK.search(source):
        before, after = source[: block.start()], source[block.end() :]
        return f"{before.rstrip()}\n\n{after.lstrip()}"
    return source


def running_on(device: str, snippets: Iterable[Snippet]) -> list[Snippet]:
    """Those that run on a device."""
    return [snippet for snippet in snippets if _runs_on(device, snippet)]


def _runs_on(device: str, snippet: Snippet) -> bool:
    try:
        return device in snippet.settings(device).devices
    except PressError:
        return True  # proving it tells what is wrong with its metadata


def all_snippets(root: Path) -> list[Snippet]:
    """Every snippet of the project, in the order of the book."""
    folder = root / "snippets"
    paths = sorted(folder.rglob("*.py"))
    names = [path.relative_to(folder).with_suffix("") for path in paths]
    return [Snippet(name.as_posix(), root) for name in names]


def plain_name(name: str) -> str:
    """`ch16/02_name` of this, of `ch16/02_name.py` and of its path."""
    name = name.strip().removeprefix("./").removeprefix("snippets/")
    return name.removesuffix(".py")


def find_snippet(name: str, snippets: Iterable[Snippet]) -> Snippet:
    """The one called so, in any of the forms of `plain_name`.

    Raises:
        PressError: there is none; the message has the nearest name.
    """
    wanted = plain_name(name)
    by_name = {snippet.name: snippet for snippet in snippets}
    if wanted not in by_name:
        raise PressError(f"no snippet {wanted!r}: {nearest(wanted, by_name)}")
    return by_name[wanted]
