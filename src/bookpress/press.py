"""The one entry: prove a snippet, or many, and keep what was proven."""

import json
import os
import selectors
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path

from bookpress.digest import environment, run_digest, versions
from bookpress.errors import PressError, nearest
from bookpress.expected import drift, label_of, masked, write_whole
from bookpress.hardware import gpu_facts, slug
from bookpress.recordings import nearest_recording
from bookpress.snippet import DEVICES, Settings, Snippet
from bookpress.sources import first_party_files, read_text
from bookpress.worker import OUTPUT_LIMIT, Request, Run, Server

SHOWN_LINES = 12
# Each run has a context of its own on the GPU, of half a gigabyte.
RUNS_ON_A_GPU = 8


@dataclass(frozen=True)
class Job:
    """A file to run: a snippet, or a program written from snippets.

    Attributes:
        name: How messages call it.
        path: The file.
        settings: What is expected of it.
        compare: What is wrong with an output, each with its way out.
        alone: Run it without the project's packages on the path.
    """

    name: str
    path: Path
    settings: Settings
    compare: Callable[[str], list[str]]
    alone: bool = False


@dataclass(frozen=True)
class Proof:
    """A run of a job, and what is wrong with it.

    Attributes:
        name: How messages call what was run.
        run: What happened; None where it could not be started.
        failures: What is wrong, each with its way out; empty when proven.
        cached: The run is one of before, with the same digest.
        drifted: It ran as it should, and its output is not the recorded one.
    """

    name: str
    run: Run | None
    failures: tuple[str, ...]
    cached: bool
    drifted: bool = False

    @property
    def output(self) -> str:
        return self.run.output if self.run else ""

    @cached_property
    def values(self) -> dict[str, str]:
        """The values of the labelled lines of the output."""
        return read_values(self.output)


def read_values(output: str) -> dict[str, str]:
    """The values of `label: value` lines; the first one of a label counts."""
    found: dict[str, str] = {}
    for line in output.splitlines():
        if label := label_of(line):
            found.setdefault(label, line.partition(":")[2].strip())
    return found


def value_of(values: dict[str, str], label: str, place: str) -> str:
    """The value of a label.

    Raises:
        PressError: the output has no such label.
    """
    if label not in values:
        raise PressError(
            f"{place} prints no label {label!r}: {nearest(label, values)}"
        )
    return values[label]


def processors() -> int:
    return len(os.sched_getaffinity(0))


def device_wanted() -> str:
    """Where the snippets are proven: BOOKPRESS_DEVICE.

    Raises:
        PressError: it is no device.
    """
    value = os.environ.get("BOOKPRESS_DEVICE", "interpreter")
    if value not in DEVICES:
        raise PressError(
            f"BOOKPRESS_DEVICE={value!r}: it takes {' or '.join(DEVICES)}"
        )
    return value


def cache_wanted() -> bool:
    """Whether runs of before count: not with BOOKPRESS_CACHE=off.

    Raises:
        PressError: it is neither on nor off.
    """
    value = os.environ.get("BOOKPRESS_CACHE", "on")
    if value not in ("on", "off"):
        raise PressError(f"BOOKPRESS_CACHE={value!r}: it takes on or off")
    return value == "on"


class Press:
    """Proves files of one project on one device.

    Args:
        root: The project's folder.
        device: "interpreter" or "cuda".
        use_cache: Take a run with the same digest for this one.
        report: Called with every proof as it comes.

    Raises:
        PressError: the device, torch or triton is missing.
    """

    def __init__(
        self,
        root: Path,
        device: str = "interpreter",
        use_cache: bool = True,
        report: Callable[[Proof], None] = lambda proof: None,
    ) -> None:
        first_party_files.cache_clear()
        versions()  # what is missing fails here, not for every file
        self.root = root.resolve()
        self.device = device
        self.hardware = gpu_facts() if device == "cuda" else {}
        self.use_cache = use_cache
        self.report = report
        self._cache = self.root / ".bookpress" / "runs"
        self._keeps = True

    def prove(self, snippets: Iterable[Snippet]) -> dict[str, Proof]:
        """Run snippets and compare with what is recorded; by name."""
        proofs: dict[str, Proof] = {}
        jobs: dict[str, Job] = {}
        for snippet in snippets:
            try:
                jobs[snippet.name] = self.job(snippet)
            except PressError as error:
                proofs[snippet.name] = self._failed(snippet.relative, error)
        return proofs | dict(zip(jobs, self.run(jobs.values()), strict=True))

    def job(self, snippet: Snippet) -> Job:
        """The job that proves a snippet.

        Raises:
            PressError: its metadata is not valid.
        """
        settings = snippet.settings(self.device)
        name, recorded_as = snippet.relative, self.device
        if self.hardware:
            name, recorded_as = on_gpu(name), slug(self.hardware["gpu"])

        def compare(output: str) -> list[str]:
            return compare_with_record(snippet, recorded_as, output)

        return Job(name, snippet.path, settings, compare)

    def run(self, jobs: Iterable[Job]) -> list[Proof]:
        """Prove jobs, several at a time; the proofs in the jobs' order."""
        jobs = list(jobs)
        proofs: dict[str, Proof] = {}
        waiting: list[tuple[Job, str]] = []
        for job in jobs:
            try:
                key = self._digest(job)
            except PressError as error:
                proofs[job.name] = self._failed(job.name, error)
                continue
            if self.use_cache and (run := self._cached(key)):
                proofs[job.name] = self._judged(job, run, cached=True)
            else:
                waiting.append((job, key))
        for job, key, run in self._run_all(waiting):
            proofs[job.name] = self._proven(job, key, run)
        return [proofs[job.name] for job in jobs]

    def _digest(self, job: Job) -> str:
        return run_digest(
            job.path,
            self.root,
            self.device,
            self.hardware,
            job.settings.timeout,
            job.alone,
        )

    def _proven(self, job: Job, key: str, run: Run) -> Proof:
        if self._changed(job, key):
            error = PressError(
                f"{job.name}: it, or a file that it imports, changed while "
                "it was run; run it again"
            )
            return self._failed(job.name, error)
        if not judge(job, run):
            self._keep(key, run)
        return self._judged(job, run, cached=False)

    def _changed(self, job: Job, key: str) -> bool:
        try:
            return self._digest(job) != key
        except PressError:
            return True

    def _judged(self, job: Job, run: Run, cached: bool) -> Proof:
        wrong = judge(job, run)
        failures = wrong or tuple(job.compare(run.output))
        drifted = bool(failures) and not wrong
        proof = Proof(job.name, run, failures, cached, drifted)
        self.report(proof)
        return proof

    def _failed(self, name: str, error: PressError) -> Proof:
        proof = Proof(name, None, (str(error),), cached=False)
        self.report(proof)
        return proof

    def _run_all(
        self, waiting: list[tuple[Job, str]]
    ) -> Iterator[tuple[Job, str, Run]]:
        if not waiting:
            return
        width = processors()
        if self.device == "cuda":
            width = min(width, RUNS_ON_A_GPU)
        single = [it for it in waiting if it[0].settings.undisturbed]
        others = [it for it in waiting if not it[0].settings.undisturbed]
        with _server(self.device) as server:
            yield from self._run_on(server, others, width)
            yield from self._run_on(server, single, 1)

    def _run_on(
        self, server: Server, waiting: list[tuple[Job, str]], width: int
    ) -> Iterator[tuple[Job, str, Run]]:
        """Run jobs, as many at a time as the width says."""
        queue = list(reversed(waiting))
        with _sockets() as selector:
            while queue or selector.get_map():
                while queue and len(selector.get_map()) < width:
                    job, key = queue.pop()
                    connection = server.start(self._request(job))
                    event = selectors.EVENT_READ
                    selector.register(connection, event, (job, key))
                for ready, _ in selector.select():
                    selector.unregister(ready.fileobj)
                    run = server.result(ready.fileobj)  # type: ignore[arg-type]
                    yield *ready.data, self._masked(run)

    def _request(self, job: Job) -> Request:
        return Request(
            str(job.path), str(self.root), job.alone, job.settings.timeout
        )

    def _masked(self, run: Run) -> Run:
        return replace(run, output=masked(run.output, self.root))

    def _cached(self, key: str) -> Run | None:
        try:
            fields = json.loads((self._cache / f"{key}.json").read_text())
            return Run(**{**fields, "faults": tuple(fields["faults"])})
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def _keep(self, key: str, run: Run) -> None:
        if not self._keeps:
            return
        text = json.dumps(asdict(run))
        try:
            write_whole(self._cache / f"{key}.json", text)
        except OSError as error:  # it only saves time
            self._keeps = False
            print(f"warning: no run is kept: {error}", file=sys.stderr)


@contextmanager
def _server(device: str) -> Iterator[Server]:
    server = Server(device, environment(device))
    try:
        yield server
    finally:
        server.close()


@contextmanager
def _sockets() -> Iterator[selectors.DefaultSelector]:
    """A selector that closes its sockets at the end: that ends the runs."""
    with selectors.DefaultSelector() as selector:
        try:
            yield selector
        finally:
            for key in list(selector.get_map().values()):
                key.fileobj.close()  # type: ignore[union-attr]


def on_gpu(name: str) -> str:
    return f"{name} on the GPU"


def compare_with_record(
    snippet: Snippet, device: str, output: str
) -> list[str]:
    """What is wrong with a snippet's output, with the way out.

    Args:
        snippet: Whose output it is.
        device: "interpreter", or a GPU as a file's name has it. Of a GPU
            on which nothing was recorded another one's output counts.
        output: What it printed.
    """
    try:
        if device == "interpreter":
            return _compare_interpreted(snippet, output)
        return _compare_on_gpu(snippet, device, output)
    except PressError as error:
        return [str(error)]


def _compare_interpreted(snippet: Snippet, output: str) -> list[str]:
    recorded = snippet.output_path("interpreter")
    where = recorded.relative_to(snippet.root)
    accept = f"make accept SNIPPETS={snippet.name}"
    if not recorded.is_file():
        return [
            f"{snippet.relative}: no output is recorded in {where}.\n"
            f"    Look at it: make run SNIPPETS={snippet.name}\n"
            f"    If it is right: {accept}"
        ]
    want = read_text(recorded, snippet.root)
    lines = drift(want, output, snippet.settings())
    return _drifted(snippet.relative, str(where), lines, accept)


def _compare_on_gpu(snippet: Snippet, device: str, output: str) -> list[str]:
    name = on_gpu(snippet.relative)
    accept = f"make record SNIPPETS={snippet.name}"
    recorded = nearest_recording(snippet, device)
    if recorded is None:
        return [
            f"{name}: no output of a GPU is recorded.\n"
            f"    Look at it: make run DEVICE=cuda SNIPPETS={snippet.name}\n"
            f"    If it is right: {accept}"
        ]
    path = snippet.output_path(recorded.device)
    where = str(path.relative_to(snippet.root))
    if recorded.stale:
        where += ", recorded for an earlier version of the code"
    lines = drift(recorded.output, output, snippet.settings("cuda"))
    return _drifted(name, where, lines, accept)


def _drifted(
    name: str, where: str, lines: list[str], accept: str
) -> list[str]:
    if not lines:
        return []
    return [
        f"{name}: the output is not the one in {where}:\n"
        + indented(lines)
        + f"\n    If the new output is right: {accept}"
    ]


def indented(lines: Iterable[str]) -> str:
    return "\n".join(f"    {line}" for line in lines)


def _tail(output: str) -> str:
    lines = output.rstrip("\n").splitlines()
    shown = [line[:200] for line in lines[-SHOWN_LINES:]]
    if len(lines) > SHOWN_LINES:
        shown.insert(0, f"… ({len(lines) - SHOWN_LINES} lines before)")
    return "\n" + indented(shown or ["(it printed nothing)"])


def judge(job: Job, run: Run) -> tuple[str, ...]:
    """What is wrong with a run, but for its output; empty if nothing is."""
    failures = [f"{job.name}: it {fault}" for fault in run.faults]
    if wrong := _wrong_ending(job.settings, run):
        failures.append(f"{job.name}: {wrong}")
    elif not run.output.strip():
        failures.append(
            f"{job.name}: it printed nothing; a snippet shows something"
        )
    return tuple(failures)


def _wrong_ending(settings: Settings, run: Run) -> str:
    if run.ending == "timed out":
        return (
            f"it did not end within {settings.timeout:g} s and was ended; "
            "give it less to do, or a longer `timeout` in its metadata. "
            "It had printed:" + _tail(run.output)
        )
    if run.ending == "printed too much":
        return (
            f"it printed more than {OUTPUT_LIMIT:,} bytes and was ended; "
            "it began:\n" + indented(run.output.splitlines()[:3])[:400]
        )
    if run.exit_code != settings.exit_code:
        return (
            f"exit code {_code(run)}, expected {settings.exit_code}. "
            "It printed:" + _tail(run.output)
        )
    if run.ending == "exited early" and run.exit_code == 0:
        return (
            "it exited with code 0 before its last line; let it run to its "
            "end. It printed:" + _tail(run.output)
        )
    return ""


def _code(run: Run) -> str:
    if run.ending == "died":
        return f"{run.exit_code} (died of signal {run.exit_code - 128})"
    return f"{run.exit_code} ({run.ending})"
