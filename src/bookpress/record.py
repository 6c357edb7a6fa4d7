"""Record on a GPU what the snippets print, and say what has changed.

Recording needs torch, triton and the standard library alone.
"""

import datetime
import difflib
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from bookpress.digest import sources_digest, versions
from bookpress.errors import PressError
from bookpress.expected import label_of, write_whole
from bookpress.hardware import ask, slug
from bookpress.press import Job, Press, Proof
from bookpress.recordings import recordings
from bookpress.snippet import Snippet


def record_on_gpu(
    root: Path,
    snippets: Iterable[Snippet],
    commit: str | None,
    report: Callable[[Proof], None],
) -> int:
    """Run snippets on this machine's GPU and record what they print.

    Returns:
        0, or 1 if a snippet did not run as its metadata expects; nothing
        is recorded of that one.
    """
    begin = time.monotonic()
    press = Press(root, "cuda", use_cache=False, report=report)
    facts = _facts(press, commit)
    snippets = list(snippets)
    proofs = press.run(_unjudged(press.job(it)) for it in snippets)
    recorded = 0
    for snippet, proof in zip(snippets, proofs, strict=True):
        if proof.run is None or proof.failures:
            print("\n".join(proof.failures))
            continue
        recorded += 1
        if news := _record(snippet, proof, facts):
            print(f"{snippet.relative}: {news}")
    seconds = time.monotonic() - begin
    print(f"recorded {recorded} of {len(proofs)} snippets in {seconds:.0f} s")
    return 0 if recorded == len(proofs) else 1


def _facts(press: Press, commit: str | None) -> dict[str, str]:
    git = ("git", "-C", str(press.root), "rev-parse", "--short", "HEAD")
    return {
        **press.hardware,
        **versions(),
        "commit": commit or ask(*git),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }


def _unjudged(job: Job) -> Job:
    """There is nothing to compare with: what comes is recorded."""
    return replace(job, compare=lambda output: [])


def _record(snippet: Snippet, proof: Proof, facts: dict[str, str]) -> str:
    """Write what a snippet printed; what is new in it."""
    device = slug(facts["gpu"])
    news = _news(snippet, device, proof.output)
    own = {
        "exit code": str(proof.run.exit_code if proof.run else 0),
        "digest": sources_digest(snippet.path, snippet.root),
    }
    lines = [f"# {key}: {what}" for key, what in (facts | own).items()]
    text = "\n".join([*lines, "#", proof.output])
    write_whole(snippet.output_path(device), text)
    return news


def _news(snippet: Snippet, device: str, output: str) -> str:
    """How an output differs from the one recorded before.

    To the last digit: what knows tolerances is no part of a GPU's machine.
    """
    try:
        before = {it.device: it.output for it in recordings(snippet)}
    except PressError:
        before = {}
    if device not in before:
        return "new"
    varies = snippet.settings("cuda").varies

    def compared(text: str) -> list[str]:
        lines = text.splitlines()
        return [x for x in lines if label_of(x) not in varies]

    lines = difflib.ndiff(compared(before[device]), compared(output))
    changed = [line for line in lines if line[0] in "-+"]
    return "\n    ".join(["changed:", *changed]) if changed else ""
