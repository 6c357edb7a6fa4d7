"""A crash, a hang or an exception is one check's result, not the end."""

import contextlib
import ctypes
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import torch

from triton_grad.device import DEVICE
from triton_grad.testing import isolation
from triton_grad.testing.isolation import (
    WorkerError,
    announce,
    run_each,
)
from triton_grad.testing.report import Failure, Result, Verdict

forked = pytest.mark.skipif(
    DEVICE != "cpu", reason="only a forked worker takes what it cannot import"
)

TIMEOUT = 60.0
ENDS = {
    "segfault": "segmentation fault (exit code 139)",
    "abort": "aborted (exit code 134)",
    "kill": "killed (exit code 137)",
    "_exit": "ended its process (exit code 5)",
    "sys.exit": "SystemExit: 3",
    "raise": "ValueError: 1 != 2",
    "unpicklable": "AttributeError: Can't pickle local object",
    "nothing": "TypeError: the check returned None, not a Result",
}


def right(check: str, note: object = "") -> Result:
    return Result(check, Verdict.RIGHT, str(note))


def end(check: str) -> Result:
    """What a bad op may do, by the check's name."""
    print(f"before {check}")
    announce(f"the call of {check}")
    match check:
        case "segfault":
            ctypes.string_at(0)
        case "abort":
            os.abort()
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "_exit":
            os._exit(5)
        case "sys.exit":
            sys.exit(3)
        case "raise":
            refuse()
        case "hang":
            while True:
                pass
        case "nothing":
            return None  # pyright: ignore[reportReturnType]
        case "unpicklable":
            return Result(check, Verdict.RIGHT, lambda: 0)  # pyright: ignore[reportArgumentType]
    return right(check, os.getpid())


def refuse() -> None:
    raise ValueError("1 != 2")


def place_of(code: str, function: str) -> str:
    """Where a line of this file is, as a report tells it."""
    lines = Path(__file__).read_text().splitlines()
    number = lines.index(code) + 1
    return f"{Path(__file__).name}:{number}, in {function}"


@pytest.mark.parametrize("check", ENDS)
def test_an_end_is_that_checks_result(check: str) -> None:
    results = run_each(["before", check, "after"], end, timeout=TIMEOUT)
    assert list(results) == ["before", check, "after"]
    result = results.pop(check)
    assert result.verdict is Verdict.CRASHES
    assert result.check == check
    assert result.note.startswith(ENDS[check])
    assert result.failure is not None
    assert result.failure.got.startswith(ENDS[check])
    assert result.failure.call == f"the call of {check}"
    for other in results.values():
        assert other.verdict is Verdict.RIGHT


def test_the_worker_after_a_crash_is_a_new_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(isolation, "MOST_WORKERS", 1)
    names = ["one", "two", "raise", "three"]
    results = run_each(names, end, timeout=TIMEOUT)
    one, two, three = (results[it].note for it in ("one", "two", "three"))
    assert one == two != three


@pytest.mark.parametrize(
    ("check", "line", "function"),
    [
        ("segfault", "            ctypes.string_at(0)", "end"),
        ("raise", '    raise ValueError("1 != 2")', "refuse"),
    ],
)
def test_a_crash_tells_where_it_was(
    check: str, line: str, function: str
) -> None:
    (result,) = run_each([check], end, timeout=TIMEOUT).values()
    assert result.failure is not None
    assert result.failure.where == place_of(line, function)


@forked
def test_a_hang_ends_in_time_and_tells_where_it_was() -> None:
    begin = time.monotonic()
    results = run_each(["hang", "after"], end, timeout=0.5)
    assert time.monotonic() - begin < 5.0
    hang, after = results.values()
    assert after.verdict is Verdict.RIGHT
    assert hang.verdict is Verdict.CRASHES
    assert hang.note == "no answer within 0.5 s"
    assert hang.seconds >= 0.5
    assert hang.failure is not None
    assert hang.failure.where in (
        place_of("            while True:", "end"),
        place_of("                pass", "end"),
    )


def test_a_dead_worker_tells_its_last_words() -> None:
    (result,) = run_each(["abort"], end, timeout=TIMEOUT).values()
    assert result.failure is not None
    assert result.failure.got == (
        "aborted (exit code 134)\nit wrote: before abort"
    )


def test_only_what_the_check_wrote_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(isolation, "MOST_WORKERS", 1)
    results = run_each(["one", "abort"], end, timeout=TIMEOUT)
    failure = results["abort"].failure
    assert failure is not None
    assert "before one" not in failure.got


@forked
def test_a_check_writes_nowhere_else(
    capfd: pytest.CaptureFixture[str],
) -> None:
    print("the caller's")

    def talk(check: str) -> Result:
        print("from Python")
        print("and to stderr", file=sys.stderr)
        os.write(1, b"from C")
        return right(check)

    run_each(["talk"], talk, timeout=TIMEOUT)
    assert capfd.readouterr() == ("the caller's\n", "")


@forked
def test_a_check_may_be_a_closure_and_knows_its_name() -> None:
    seen = torch.tensor([7])
    results = run_each(
        ["a", "b"], lambda it: right(it, seen.item()), timeout=TIMEOUT
    )
    assert [it.note for it in results.values()] == ["7", "7"]


@forked
def test_results_are_in_order_and_start_in_order() -> None:
    started: list[str] = []

    def wait(check: str) -> Result:
        time.sleep(0.2 if check == "a" else 0.0)
        return right(check)

    results = run_each("abcd", wait, timeout=TIMEOUT, on_start=started.append)
    assert list(results) == started == list("abcd")
    assert results["a"].seconds >= 0.2 > results["b"].seconds


@forked
def test_there_are_two_at_once_where_there_are_two_cores() -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one core")
    meeting, greeting = os.pipe(), os.pipe()

    def meet(check: str) -> Result:
        ours, theirs = (
            (meeting, greeting) if check == "a" else (greeting, meeting)
        )
        os.write(theirs[1], b".")
        os.read(ours[0], 1)
        return right(check)

    results = run_each("ab", meet, timeout=10.0)
    assert {it.verdict for it in results.values()} == {Verdict.RIGHT}


@forked
def test_a_failure_keeps_its_own_words() -> None:
    failure = Failure("its own call", "there", "1", "2")

    def fail(check: str) -> Result:
        announce("something else")
        return Result(check, Verdict.WRONG, "a note", failure)

    (result,) = run_each(["fail"], fail, timeout=TIMEOUT).values()
    assert result.failure == failure
    assert result.note == "a note"


def test_announcing_outside_of_a_worker_does_nothing() -> None:
    announce("a call")


# ----------------------------------------------------- what a fork leaves out


def backward(check: str) -> Result:
    x = torch.randn(700, 700, requires_grad=True)
    (x @ x).exp().sum().backward()
    return right(check, torch.get_num_threads())


@forked
def test_backward_works_after_the_caller_used_its_threads() -> None:
    """Without torch.set_num_threads(1) the worker waits for ever."""
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        backward("here")
        (result,) = run_each(["there"], backward, timeout=20.0).values()
    finally:
        torch.set_num_threads(threads)
    assert (result.verdict, result.note) == (Verdict.RIGHT, "1")


@forked
def test_a_worker_leaves_no_core_and_the_caller_keeps_its_limit() -> None:
    before = resource.getrlimit(resource.RLIMIT_CORE)
    generous = (before[1], before[1])

    def limit(check: str) -> Result:
        return right(check, resource.getrlimit(resource.RLIMIT_CORE)[0])

    resource.setrlimit(resource.RLIMIT_CORE, generous)
    try:
        (result,) = run_each(["limit"], limit, timeout=TIMEOUT).values()
        assert resource.getrlimit(resource.RLIMIT_CORE) == generous
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, before)
    assert result.note == "0"


def alive(pid: int) -> bool:
    with contextlib.suppress(FileNotFoundError):
        stat = Path(f"/proc/{pid}/stat").read_text()
        return stat.rpartition(")")[2].split()[0] != "Z"
    return False


def gone(pids: list[int]) -> bool:
    """Whether they end; the system may take a moment."""
    patience = time.monotonic() + 5.0
    while any(map(alive, pids)) and time.monotonic() < patience:
        time.sleep(0.01)
    return not any(map(alive, pids))


@forked
def test_what_a_check_starts_ends_with_its_worker(tmp_path: Path) -> None:
    def start(check: str) -> Result:
        child = subprocess.Popen(["sleep", "600"])
        (tmp_path / check).write_text(str(child.pid))
        if check == "hang":
            time.sleep(600)
        return right(check)

    run_each(["hang", "right"], start, timeout=1.0)
    pids = [int(path.read_text()) for path in tmp_path.iterdir()]
    assert len(pids) == 2
    assert gone(pids)


CALLER = """
import os, sys, time
from pathlib import Path
from triton_grad.testing.isolation import run_each

def hang(check):
    Path(sys.argv[1], check).write_text(f"{os.getpid()}\\n")
    time.sleep(600)

run_each("a", hang, timeout=600)
"""


@forked
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_no_worker_outlives_its_caller(tmp_path: Path, name: str) -> None:
    caller = subprocess.Popen(
        [sys.executable, "-c", CALLER, tmp_path],
        stderr=subprocess.PIPE,
        # Ctrl-C is ignored where these tests run in parallel.
        preexec_fn=lambda: signal.signal(
            signal.SIGINT, signal.default_int_handler
        ),
    )
    note = tmp_path / "a"
    while not (note.exists() and note.read_text().endswith("\n")):
        assert caller.poll() is None
        time.sleep(0.02)
    caller.send_signal(signal.Signals[name])
    _, errors = caller.communicate(timeout=10.0)
    assert caller.returncode == -signal.Signals[name]
    assert (b"KeyboardInterrupt" in errors) == (name == "SIGINT")
    assert gone([int(note.read_text())])


# ------------------------------------------------------------ a new process


@pytest.fixture
def anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU: a worker is no fork."""
    monkeypatch.setattr(isolation, "_can_fork", lambda: False)


OPS = """
import ctypes, os
from triton_grad.testing.isolation import announce
from triton_grad.testing.report import Result, Verdict

def greet(text, check):
    announce("the call")
    if check == "segfault":
        ctypes.string_at(0)
    return Result(check, Verdict.RIGHT, f"{text} {os.getpid()}")
"""


@pytest.mark.usefixtures("anew")
def test_a_new_interpreter_imports_what_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ops_of_a_reader.py").write_text(OPS)
    monkeypatch.syspath_prepend(tmp_path)
    from ops_of_a_reader import greet  # pyright: ignore[reportMissingImports]

    results = run_each(
        ["a", "b", "segfault", "c"], partial(greet, "hello"), timeout=TIMEOUT
    )
    a, b, crash, c = results.values()
    assert a.note.startswith("hello ")
    assert a.note == b.note != c.note
    assert str(os.getpid()) not in a.note
    assert crash.note == ENDS["segfault"]
    assert crash.failure is not None
    assert crash.failure.call == "the call"
    assert crash.failure.where == "ops_of_a_reader.py:9, in greet"


def local_function() -> Callable[[str], Result]:
    def inside(check: str) -> Result:
        return right(check)

    return inside


@pytest.mark.usefixtures("anew")
@pytest.mark.parametrize(
    ("run", "named"),
    [
        (lambda it: right(it), "<lambda>"),
        (local_function(), "local_function.<locals>.inside"),
        (partial(right, note=threading.Lock()), "_thread.lock"),
    ],
)
def test_what_cannot_be_imported_anew_is_named(
    run: Callable[[str], Result], named: str
) -> None:
    with pytest.raises(WorkerError) as caught:
        run_each(["a"], run, timeout=TIMEOUT)
    assert named in str(caught.value)
    assert "define it at the top of a module" in str(caught.value)


@pytest.mark.usefixtures("anew")
def test_what_stands_in_the_main_file_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(right, "__module__", "__main__")
    with pytest.raises(WorkerError, match=r"__main__\.right cannot be"):
        run_each(["a"], right, timeout=TIMEOUT)


@pytest.mark.usefixtures("anew")
def test_a_worker_that_does_not_start_is_told_with_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "ops_that_go_away.py"
    module.write_text(OPS)
    monkeypatch.syspath_prepend(tmp_path)
    from ops_that_go_away import greet  # pyright: ignore[reportMissingImports]

    module.write_text("raise OSError('gone since')")
    with pytest.raises(WorkerError, match="OSError: gone since"):
        run_each(["a"], partial(greet, "hello"), timeout=TIMEOUT)
