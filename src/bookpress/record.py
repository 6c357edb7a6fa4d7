"""Outputs recorded on a GPU: written there, read when the book is built.

Recording needs torch, triton and the standard library alone.
"""

import datetime
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from bookpress.digest import sources_digest, versions
from bookpress.errors import PressError
from bookpress.expected import write_whole
from bookpress.press import Job, Press, Proof
from bookpress.snippet import Snippet
from bookpress.sources import read_text

# In a process of its own: the press itself imports no torch.
GPU_OR_NONE = """
from torch import cuda
print(cuda.get_device_name() if cuda.is_available() else "none")
"""
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
    """An output that was recorded on a GPU.

    Attributes:
        device: The GPU as the file's name has it, such as "h200".
        facts: On what it ran: gpu, driver, torch, triton, python, commit,
            date, exit code, digest of the sources.
        output: What the snippet printed.
        stale: The sources are not the ones that were recorded.
    """

    device: str
    facts: dict[str, str]
    output: str
    stale: bool


def slug(gpu: str) -> str:
    """The GPU's name for a file: "NVIDIA H200" becomes "h200"."""
    return gpu.removeprefix("NVIDIA ").lower().replace(" ", "-")


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


def _ask(*command: str) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise PressError(f"{' '.join(command)}: {error}") from None
    return done.stdout.strip().splitlines()[0]


def _gpu() -> str:
    """The name of the GPU that torch uses: the snippets run on that one."""
    name = _ask(sys.executable, "-P", "-c", GPU_OR_NONE)
    if name == "none":
        raise PressError(
            f"torch finds no GPU here ({sys.executable}); outputs are "
            "recorded on a machine with one"
        )
    return name


def _facts(root: Path, commit: str | None) -> dict[str, str]:
    found = versions()  # first: what is missing here is said best there
    driver = ("nvidia-smi", "--format=csv,noheader")
    return {
        "gpu": _gpu(),
        "driver": _ask(*driver, "--query-gpu=driver_version"),
        **found,
        "commit": commit
        or _ask("git", "-C", str(root), "rev-parse", "--short", "HEAD"),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }


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
    facts = _facts(root, commit)
    chosen = [s for s in snippets if "cuda" in s.settings("cuda").devices]
    press = Press(root, "cuda", use_cache=False, report=report)
    proofs = press.run(_unjudged(press.job(s)) for s in chosen)
    failures = 0
    for snippet, proof in zip(chosen, proofs, strict=True):
        if proof.run is None or proof.failures:
            failures += 1
            print("\n".join(proof.failures))
            continue
        own = {
            "exit code": str(proof.run.exit_code),
            "digest": sources_digest(snippet.path, root),
        }
        lines = [f"# {key}: {what}" for key, what in (facts | own).items()]
        text = "\n".join([*lines, "#", proof.output])
        write_whole(snippet.output_path(slug(facts["gpu"])), text)
    print(f"recorded {len(proofs) - failures} of {len(proofs)} snippets")
    return 1 if failures else 0


def _unjudged(job: Job) -> Job:
    """There is nothing to compare with: what comes is recorded."""
    return replace(job, compare=lambda output: [])
