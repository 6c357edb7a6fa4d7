"""What the press costs: the build cold, warm, touched, without execution.

Everything is timed in one run, in a scratch copy of the project, as medians;
the table is printed last.
"""

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bookpress.book import Book
from bookpress.pages import all_fences
from bookpress.press import Press, Proof, processors
from bookpress.snippet import Snippet, all_snippets

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("docs", "overrides", "snippets", "src", "mkdocs.yml")
TOUCHED = "src/triton_grad/ops/square.py"
TRIVIAL = 20
MATHS_ALONE = """
from bookpress.maths import render_maths

def on_page_content(html, **_):
    return render_maths(html)
"""
VALUE = re.compile(r"\{\{\s*value\((.*?)\)\s*\}\}")


def copy_project(folder: Path) -> Path:
    """A copy of what a build reads, to touch and break at will."""
    for part in (*PARTS, "pyproject.toml"):
        source = ROOT / part
        copy = shutil.copytree if source.is_dir() else shutil.copy2
        copy(source, folder / part)
    return folder


def build(root: Path) -> None:
    """`mkdocs build`, as a reader runs it."""
    mkdocs = Path(sys.executable).with_name("mkdocs")
    site = root / "site"
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    # As on most machines: what is imported was compiled before.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    subprocess.run(
        [mkdocs, "build", "-q", "-d", site],
        cwd=root,
        env=environment,
        check=True,
    )


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def median(
    name: str,
    times: int,
    work: Callable[[], object],
    prepare: Callable[[], object] = lambda: None,
) -> float:
    """The median time of some runs, each after a preparation."""
    measured = []
    for count in range(times):
        prepare()
        print(f"{name}, {count + 1} of {times} …", file=sys.stderr)
        measured.append(seconds(work))
    return statistics.median(measured)


def in_turn(one: Callable[[], object], other: Callable[[], object]):
    """The medians of two, run by turns: the machine's moods meet both."""
    pairs = []
    for count in range(9):
        print(f"warm and plain build, {count + 1} of 9 …", file=sys.stderr)
        pairs.append((seconds(one), seconds(other)))
    return [statistics.median(times) for times in zip(*pairs, strict=True)]


def write_static(root: Path) -> None:
    """Turn the copy into the same pages with nothing left to execute.

    The plugins stay and the maths is rendered; fences, values and the press
    are gone.
    """
    book = Book(root, report=lambda proof: None, use_cache=True)
    for page in sorted((root / "docs").rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        text = VALUE.sub(lambda call: _value(book, call[1]), text)
        page.write_text(text, encoding="utf-8")
    for fence in reversed(all_fences(root)):
        page = root / fence.page
        lines = page.read_text(encoding="utf-8").splitlines()
        end = fence.line + len(fence.body) + 1
        indent = " " * (
            len(lines[fence.line - 1]) - len(lines[fence.line - 1].lstrip())
        )
        static = [indent + line for line in _static(book, fence)]
        if static:
            lines[fence.line - 1 : end] = static
            page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    hook = root / "src" / "bookpress" / "mkdocs_hooks.py"
    hook.write_text(MATHS_ALONE, encoding="utf-8")


def _value(book: Book, arguments: str) -> str:
    return eval(f"value({arguments})", {"value": book.value})


def _static(book: Book, fence) -> list[str]:
    """What a fence shows, as plain code blocks."""
    body = "\n".join(fence.body).strip()
    if fence.language == "snippet":
        snippet = book.snippet(body)
        proof = book.proofs.get(snippet.name)
        shown = [("python", snippet.shown_source)]
        shown += [("text", proof.output)] if proof else []
        shown += [("text", r.output) for r in book.recordings(snippet)]
    elif fence.language == "kernel":
        shown = [("python", book.definition(body.split()).source)]
    elif fence.language == "standalone":
        program = (book.standalone / f"{body}.py").read_text("utf-8")
        shown = [("python", program), ("text", book.chapter(body).output)]
    else:
        return []
    lines = []
    for language, text in shown:
        lines += [f"``````{language}", *text.splitlines(), "``````", ""]
    return lines


def fresh_interpreters(snippets: list[Snippet]) -> None:
    """Every snippet in a Python of its own, as many at a time."""

    def run(snippet: Snippet) -> None:
        subprocess.run(
            [sys.executable, snippet.path],
            capture_output=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            check=False,  # one of them crashes, on purpose
        )

    with ThreadPoolExecutor(processors()) as pool:
        list(pool.map(run, snippets))


def per_trivial_snippet(folder: Path) -> float:
    """Seconds that the press needs for a snippet that needs none."""
    chapter = folder / "snippets" / "ch00"
    chapter.mkdir(parents=True)
    (folder / "src").mkdir()
    for number in range(TRIVIAL):
        text = f'"""Nothing."""\n\nprint("number: {number}")\n'
        (chapter / f"{number:02}_nothing.py").write_text(text)
    ended: list[float] = []

    def note(proof: Proof) -> None:
        ended.append(time.perf_counter())

    press = Press(folder, use_cache=False, report=note)
    press.prove(all_snippets(folder))
    return (ended[-1] - ended[0]) / (TRIVIAL - 1)


class PeakMemory(threading.Thread):
    """The largest sum of proportional set sizes below this process."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = 0
        self._stop_now = threading.Event()

    def run(self) -> None:
        while not self._stop_now.wait(0.1):
            sizes = [_pss(pid) for pid in _below(os.getpid())]
            self.peak = max(self.peak, sum(sizes))

    def stop(self) -> float:
        """End; the peak in GB."""
        self._stop_now.set()
        self.join()
        return self.peak / 1e6


def _below(pid: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        children = " ".join((t / "children").read_text() for t in tasks)
    except OSError:
        return []
    found = [int(child) for child in children.split()]
    return found + [p for child in found for p in _below(child)]


def _pss(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    found = re.search(r"^Pss: +(\d+) kB", text, re.MULTILINE)
    return int(found[1]) if found else 0


def ran_again(root: Path) -> list[str]:
    """The snippets that a build after the touch has to run."""
    ran: list[str] = []

    def note(proof: Proof) -> None:
        if not proof.cached:
            ran.append(proof.name)

    Press(root, report=note).prove(all_snippets(root))
    return ran


def measure(scratch: Path) -> list[tuple[str, str]]:
    root = copy_project(scratch / "book")
    snippets = all_snippets(root)
    cache = root / ".bookpress"
    touched = root / TOUCHED
    marks = iter(range(100))

    def forget() -> None:
        shutil.rmtree(cache, ignore_errors=True)

    def touch() -> None:
        with touched.open("a", encoding="utf-8") as stream:
            stream.write(f"# touched {next(marks)}\n")

    # A build of its own: to measure memory takes time.
    memory = PeakMemory()
    memory.start()
    median("memory of a cold build", 1, lambda: build(root))
    peak = memory.stop()
    cold = median("cold build", 3, lambda: build(root), forget)
    static = Path(shutil.copytree(root, scratch / "static"))
    write_static(static)
    warm, plain = in_turn(lambda: build(root), lambda: build(static))
    after = median("build after a touch", 3, lambda: build(root), touch)
    touch()
    again = ran_again(root)
    fresh = median(
        "fresh interpreters", 2, lambda: fresh_interpreters(snippets)
    )
    trivial = per_trivial_snippet(scratch / "trivial")
    return [
        (f"cold build, {len(snippets)} snippets", f"{cold:.2f} s"),
        ("warm build", f"{warm:.2f} s"),
        (f"build after touching {TOUCHED}", f"{after:.2f} s"),
        ("  snippets that ran again", f"{len(again)} of {len(snippets)}"),
        ("the same pages without execution", f"{plain:.2f} s"),
        ("  warm build / without execution", f"{warm / plain:.2f}"),
        ("the snippets, a fresh interpreter each", f"{fresh:.2f} s"),
        ("the press, per snippet that does nothing", f"{trivial:.3f} s"),
        ("peak memory of a cold build", f"{peak:.2f} GB"),
    ]


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="bench-build-") as folder:
        rows = measure(Path(folder))
    print(f"{processors()} processors, medians")
    for name, figure in rows:
        print(f"{name:55} {figure:>10}")


if __name__ == "__main__":
    main()
