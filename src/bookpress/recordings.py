"""Outputs of GPUs: what was recorded, and how far it still holds."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bookpress.digest import sources_digest
from bookpress.errors import PressError
from bookpress.expected import drift
from bookpress.snippet import Snippet
from bookpress.sources import read_text

FACTS = {
    "gpu",
    "driver",
    "torch",
    "triton",
    "commit",
    "date",
    "exit code",
    "digest",
}


@dataclass(frozen=True)
class Recording:
    """An output of a GPU.

    Attributes:
        device: The GPU as the file's name has it, such as "h200".
        facts: On what it ran: gpu, driver, torch, triton, python, commit,
            date, exit code, digest of the sources. Of a run of this build
            no commit, date and digest.
        output: What the snippet printed.
        stale: The sources are not the ones that were recorded.
        fresh: It was not recorded: it ran in this build.
    """

    device: str
    facts: dict[str, str]
    output: str
    stale: bool
    fresh: bool = False


@dataclass(frozen=True)
class Outdated:
    """An output that has to be recorded.

    Attributes:
        snippet: Whose.
        device: Where: "interpreter", a GPU as a file's name has it, or
            "cuda" for any.
        commit: What was recorded for; None where nothing was.
        date: When.
    """

    snippet: str
    device: str
    commit: str | None = None
    date: str | None = None


def recordings(snippet: Snippet) -> list[Recording]:
    """What was recorded of a snippet on GPUs."""
    found = []
    paths = snippet.path.parent.glob(f"{snippet.path.stem}.*.out")
    for path in sorted(paths):
        device = path.name.split(".")[1]
        if device != "interpreter":
            found.append(_read(path, device, snippet))
    return found


def _read(path: Path, device: str, snippet: Snippet) -> Recording:
    text = read_text(path, snippet.root)
    head, end, output = text.partition("#\n")
    lines = [line.removeprefix("# ") for line in head.splitlines()]
    facts = {key: what for key, _, what in (x.partition(": ") for x in lines)}
    if not end or not facts.keys() >= FACTS:
        where = path.relative_to(snippet.root)
        raise PressError(
            f"{where}: no head that tells on what it was recorded (lines "
            "`# key: value` and one `#`); record it again"
        )
    now = sources_digest(snippet.path, snippet.root)
    return Recording(device, facts, output, facts["digest"] != now)


def nearest_recording(snippet: Snippet, device: str) -> Recording | None:
    """What was recorded on this GPU; on another one, if nothing was."""
    found = {recording.device: recording for recording in recordings(snippet)}
    return found.get(device) or next(iter(found.values()), None)


def outdated(snippets: Iterable[Snippet]) -> list[Outdated]:
    """What does not match its sources, or was never recorded."""
    found = []
    for snippet in snippets:
        devices = snippet.settings().devices
        known = recordings(snippet)
        has_output = snippet.output_path("interpreter").is_file()
        if "interpreter" in devices and not has_output:
            found.append(Outdated(snippet.name, "interpreter"))
        if "cuda" in devices and not known:
            found.append(Outdated(snippet.name, "cuda"))
        found += [
            Outdated(
                snippet.name, it.device, it.facts["commit"], it.facts["date"]
            )
            for it in known
            if it.stale
        ]
    return found


def unexplained(snippet: Snippet) -> list[str]:
    """What is wrong with a snippet's reason for what GPUs print otherwise.

    A stale recording says nothing: whoever changed the code may have no GPU.

    Raises:
        PressError: its metadata, or a recording of it, is not valid.
    """
    settings = snippet.settings("cuda")
    current = [it for it in recordings(snippet) if not it.stale]
    if not current or not snippet.output_path("interpreter").is_file():
        return []
    differences = [lines for it in current if (lines := _other(snippet, it))]
    if differences and not settings.differs:
        return [
            f"{snippet.relative}: a GPU prints something else, and nothing "
            "says why:\n"
            + "\n".join(f"    {line}" for line in differences[0])
            + '\n    If it may: differs = "why" in its metadata'
        ]
    if settings.differs and not differences:
        return [
            f"{snippet.relative}: `differs` in its metadata says why a GPU "
            "prints something else, and none does; take it out"
        ]
    return []


def _other(snippet: Snippet, recording: Recording) -> list[str]:
    """Where a GPU's output is not the interpreter's."""
    path = snippet.output_path("interpreter")
    names = "interpreter", recording.device
    settings = snippet.settings("cuda")
    want = read_text(path, snippet.root)
    lines = drift(want, recording.output, settings, names)
    codes = str(snippet.settings().exit_code), recording.facts["exit code"]
    if not lines and codes[0] != codes[1]:
        lines = [f"exit code {codes[1]}, in the interpreter {codes[0]}"]
    return lines
