"""Run checks in worker processes: what ends a worker ends one check.

    run_each ── connection ──> worker: run(name), run(next name), ...
       └── pidfd, log ───────────┘

A worker is forked where the interpreter runs the kernels: the op may then be
anything, a closure too. CUDA does not survive a fork: there a worker is a new
interpreter, and what it runs travels by pickle.
"""

import contextlib
import ctypes
import faulthandler
import io
import os
import pickle
import re
import resource
import signal
import sys
import sysconfig
import tempfile
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from multiprocessing.connection import Connection, Pipe, wait
from types import FunctionType
from typing import IO, Any

import torch

from triton_grad.device import DEVICE
from triton_grad.testing.report import Failure, Result, Verdict

MOST_WORKERS = 4
START_SECONDS = 300.0
ABORT_SECONDS = 1.0
LAST_LINES = 8
PR_SET_PDEATHSIG = 1
# Where a new interpreter finds its end of the connection.
CONNECTION_FD = 3
FATAL = "Fatal Python error: "
# faulthandler writes the innermost frame first.
FRAME = re.compile(r'^  File "(.+)", line (\d+) in (.+)$', re.MULTILINE)
# Frames in these folders are not the op's own.
OTHERS_CODE = (
    os.path.dirname(__file__),
    *(sysconfig.get_path(it) for it in ("stdlib", "purelib", "platlib")),
)


class WorkerError(RuntimeError):
    """There is no process to run checks in."""


def run_each(
    names: Iterable[str],
    run: Callable[[str], Result],
    *,
    timeout: float,
    on_start: Callable[[str], None] | None = None,
    interpreted: bool = False,
) -> dict[str, Result]:
    """Run checks so that a crash or a hang of one is that one's result.

    Args:
        names: The checks, each once; they start in this order.
        run: Makes the check that it is given the name of, in a worker.
        timeout: Seconds for each check.
        on_start: Called here with the name of a check that starts.
        interpreted: Whether kernels run on the interpreter there, also where
            there is a GPU.

    Returns:
        Each check's result, with its time, in the order of `names`.

    Raises:
        WorkerError: There is no worker: `run` cannot be pickled where it has
            to be, or the process ends before it works.
    """
    order = list(names)
    waiting = deque(order)
    results: dict[str, Result] = {}
    idle: list[Worker] = []
    busy: list[Worker] = []
    try:
        while waiting or busy:
            while waiting and len(busy) < _worker_count():
                busy.append(idle.pop() if idle else Worker(run, interpreted))
                busy[-1].begin(waiting.popleft(), timeout)
                if on_start:
                    on_start(busy[-1].check)
            _wait_for_any(busy)
            for worker in list(busy):
                if result := worker.result():
                    results[result.check] = result
                    busy.remove(worker)
                    # Its memory, or the GPU's context, may be spoilt.
                    if result.verdict is Verdict.CRASHES:
                        worker.end()
                    else:
                        idle.append(worker)
    finally:
        for worker in (*idle, *busy):
            worker.end()
    return {name: results[name] for name in order}


def announce(call: str) -> None:
    """Say what a check is about to do: if it dies of it, the report tells.

    Outside of a worker this does nothing.

    Args:
        call: The input in words, as in `Failure.call`.
    """
    if _to_caller is not None:
        _to_caller.send(call)


# ---------------------------------------------------------------- the caller


class Worker:
    """A process that checks, and the check that it is at."""

    def __init__(
        self, run: Callable[[str], Result], interpreted: bool
    ) -> None:
        # It has no name: nothing is left of it, however this ends.
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._connection, theirs = Pipe()
        with theirs:
            if _can_fork():
                self._pid = _fork(run, theirs, self._log)
            else:
                self._pid = _spawn(run, theirs, self._log, interpreted)
        # Here and there, whoever is first: what it starts is in its group.
        with contextlib.suppress(PermissionError, ProcessLookupError):
            os.setpgid(self._pid, self._pid)
        self._process = os.pidfd_open(self._pid)
        self._set_clock("", START_SECONDS)
        self._wait_for_start()

    def begin(self, check: str, timeout: float) -> None:
        """Let it make a check."""
        self._set_clock(check, timeout)
        # If it is dead already, `result` will tell.
        with contextlib.suppress(BrokenPipeError):
            self._connection.send(check)

    @property
    def signs(self) -> tuple[Connection, int]:
        """What there is to read from when it has told something, or ended."""
        return self._connection, self._process

    @property
    def seconds_left(self) -> float:
        return max(0.0, self._begin + self._timeout - time.monotonic())

    def result(self) -> Result | None:
        """The check's result, if there is one, however it came about."""
        has_ended = bool(wait([self._process], 0))
        told = self._receive()
        seconds = time.monotonic() - self._begin
        if told:
            return self._signed(told, seconds)
        if has_ended:
            return self._obituary(self._cause_of_death(), seconds)
        if self.seconds_left:
            return None
        self._abort()
        late = f"no answer within {self._timeout:g} s"
        return self._obituary(late, seconds)

    def end(self) -> None:
        """Kill it and what it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)
        os.close(self._process)
        self._connection.close()
        self._log.close()

    def _set_clock(self, check: str, timeout: float) -> None:
        self.check = check
        self._call = ""
        self._timeout = timeout
        self._log_begin = os.fstat(self._log.fileno()).st_size
        self._begin = time.monotonic()

    def _wait_for_start(self) -> None:
        wait(self.signs, START_SECONDS)
        try:
            if not self._connection.poll():
                raise EOFError
            self._connection.recv()
        except EOFError:
            written = self._written()
            self.end()
            raise WorkerError(
                f"no worker process starts; it wrote:\n{written}"
            ) from None

    def _receive(self) -> Result | None:
        """Read what it has sent: what it announces, at last a result."""
        with contextlib.suppress(EOFError, ConnectionResetError):
            while self._connection.poll():
                message = self._connection.recv()
                if isinstance(message, Result):
                    return message
                self._call = message
        return None

    def _written(self) -> str:
        """What it has written since the check began."""
        log = self._log.fileno()
        size = os.fstat(log).st_size - self._log_begin
        data = os.pread(log, size, self._log_begin)
        return data.decode(errors="backslashreplace")

    def _abort(self) -> None:
        """End it so that faulthandler writes where it is."""
        os.kill(self._pid, signal.SIGABRT)
        wait([self._process], ABORT_SECONDS)

    def _cause_of_death(self) -> str:
        # It stays there to be waited for, so that its group keeps its number.
        flags = os.WEXITED | os.WNOWAIT
        ending = os.waitid(os.P_PIDFD, self._process, flags)
        assert ending is not None  # which it is with WNOHANG only
        status = ending.si_status
        if ending.si_code == os.CLD_EXITED:
            return f"ended its process (exit code {status})"
        name = (signal.strsignal(status) or f"signal {status}").lower()
        return f"{name} (exit code {128 + status})"

    def _obituary(self, told: str, seconds: float) -> Result:
        words, _, stack = self._written().partition(FATAL)
        last = words.strip().splitlines()[-LAST_LINES:]
        got = "\n".join([told, *(f"it wrote: {line}" for line in last)])
        failure = Failure("", _place(FRAME.findall(stack)), got, expected="")
        result = Result(self.check, Verdict.CRASHES, told, failure)
        return self._signed(result, seconds)

    def _signed(self, result: Result, seconds: float) -> Result:
        """With the check's name and time, and what it last announced."""
        failure = result.failure
        if failure and not failure.call:
            failure = replace(failure, call=self._call)
        return replace(
            result, check=self.check, failure=failure, seconds=seconds
        )


def _worker_count() -> int:
    """One for each core, as an interpreted kernel keeps one busy."""
    if not _can_fork():
        return 1
    return min(MOST_WORKERS, len(os.sched_getaffinity(0)))


def _can_fork() -> bool:
    return DEVICE == "cpu" and not torch.cuda.is_initialized()


def _wait_for_any(busy: list[Worker]) -> None:
    """Wait until one has told something, has ended or must be ended."""
    signs = [sign for worker in busy for sign in worker.signs]
    wait(signs, min(worker.seconds_left for worker in busy))


def _place(frames: Iterable[tuple[str, str, str]]) -> str:
    """The first frame that is the op's own."""
    for path, line, name in frames:
        if not path.startswith((*OTHERS_CODE, "<")):
            return f"{os.path.basename(path)}:{line}, in {name}"
    return ""


def _fork(
    run: Callable[[str], Result], theirs: Connection, log: IO[bytes]
) -> int:
    # Else the worker would write out what waits here.
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        # Python 3.12 warns of threads that hold locks. PyTorch's threads wait
        # for work, and the worker does without them.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        try:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
            # The pool's threads are not here: waiting for them never ends.
            torch.set_num_threads(1)
            _work(run, theirs)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)  # it must not go on as the caller
    return pid


def _spawn(
    run: Callable[[str], Result],
    theirs: Connection,
    log: IO[bytes],
    interpreted: bool,
) -> int:
    environment = dict(os.environ)
    if interpreted:
        environment["TRITON_INTERPRET"] = "1"
    program = (
        f"import sys; sys.path[:] = {sys.path!r}; "
        f"from {__name__} import work_anew; work_anew()"
    )
    with tempfile.TemporaryFile() as pickled:
        pickled.write(_pickled(run))
        pickled.seek(0)
        return os.posix_spawn(
            sys.executable,
            [sys.executable, "-c", program],
            environment,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, pickled.fileno(), 0),
                (os.POSIX_SPAWN_DUP2, log.fileno(), 1),
                (os.POSIX_SPAWN_DUP2, log.fileno(), 2),
                (os.POSIX_SPAWN_DUP2, theirs.fileno(), CONNECTION_FD),
            ],
            setpgroup=0,
        )


class _Pickler(pickle.Pickler):
    """Refuses by name what another interpreter could not import."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, FunctionType | type):
            name = f"{obj.__module__}.{obj.__qualname__}"
            if "<" in name or obj.__module__ == "__main__":
                raise TypeError(f"{name} cannot be imported")
        return NotImplemented


def _pickled(run: Callable[[str], Result]) -> bytes:
    page = io.BytesIO()
    try:
        _Pickler(page).dump(run)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise WorkerError(
            "on a GPU an op is checked in a new process, which imports it by "
            f"its name: {error}; define it at the top of a module, not in "
            "the program's main file, and import it from there"
        ) from error
    return page.getvalue()


# ---------------------------------------------------------------- the worker

_to_caller: Connection | None = None


def work_anew() -> None:
    """What a new interpreter does as a worker."""
    # Left open: to the caller its end means that all has been written.
    connection = Connection(CONNECTION_FD)
    _work(pickle.load(sys.stdin.buffer), connection)


def _work(run: Callable[[str], Result], connection: Connection) -> None:
    """Make the checks that the caller names, until it is gone."""
    global _to_caller
    _to_caller = connection
    _prepare_process()
    announce("")  # it has started
    with contextlib.suppress(EOFError):
        while True:
            check = connection.recv()
            result = _made(run, check)
            try:
                connection.send(result)
            except Exception as error:
                connection.send(_raised(check, error))


def _prepare_process() -> None:
    os.setpgid(0, 0)  # Ctrl-C is for the caller alone, which then ends us
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, most))
    faulthandler.enable(2, all_threads=False)
    # The caller's streams may go elsewhere: pytest's and a notebook's do.
    sys.stdout, sys.stderr = (
        os.fdopen(it, "w", 1, "utf-8", "backslashreplace", closefd=False)
        for it in (1, 2)
    )


def _made(run: Callable[[str], Result], check: str) -> Result:
    """The check's result, whatever it raises."""
    try:
        result = run(check)
        if not isinstance(result, Result):
            raise TypeError(f"the check returned {result!r}, not a Result")
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()  # else the next check gets its error
    except BaseException as error:
        return _raised(check, error)
    return result


def _raised(check: str, error: BaseException) -> Result:
    told = f"{type(error).__name__}: {error}"
    frames: list[traceback.FrameSummary] = []
    cause: BaseException | None = error
    while cause:
        frames += traceback.extract_tb(cause.__traceback__)
        cause = cause.__cause__
    places = [(it.filename, str(it.lineno), it.name) for it in frames[::-1]]
    failure = Failure("", _place(places), got=told, expected="")
    return Result(check, Verdict.CRASHES, told.splitlines()[0], failure)
