"""Run one Python file in a process of its own, forked from a warm server.

The server is `python -m bookpress.worker`: it imports torch and triton once
and forks for every request. multiprocessing's forkserver is not used: on
Python 3.11 it imports the caller's main script (MkDocs, pytest) again in
every child.

    press ── control socket ──> server ── fork ──> supervisor ── fork ──> file
      └────────────── one result socket per run ──────┘

The supervisor keeps the time, the size of the output and the processes that
the file leaves behind; when the press closes the result socket, or dies, the
supervisor ends the run.
"""

import array
import atexit
import contextlib
import ctypes
import gc
import importlib
import json
import os
import runpy
import select
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn

from bookpress.landlock import can_lock, write_only_below

PRELOAD = ("torch", "triton", "triton.language")
PRELOAD_INTERPRETER = ("numpy", "triton.runtime.interpreter")
OUTPUT_LIMIT = 200_000
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
IOLBF = 1
READY = b"ready"
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Audit events that change a folder: which arguments are a path and the
# descriptor of the folder that it is relative to (-1: the current one).
CHANGING = {
    "os.mkdir": ((0, 2),),
    "os.remove": ((0, 1),),
    "os.rmdir": ((0, 1),),
    "os.rename": ((0, 2), (1, 3)),
    "os.link": ((0, 2), (1, 3)),
    "os.symlink": ((1, 2),),
}


@dataclass(frozen=True)
class Request:
    """What to run.

    Attributes:
        path: The file.
        root: The project, which the file must not write into.
        alone: Keep the project's packages off the path.
        timeout: Seconds.
    """

    path: str
    root: str
    alone: bool
    timeout: float


@dataclass(frozen=True)
class Run:
    """What happened.

    Attributes:
        ending: "finished" (ran to its last line), "raised", "exited early",
            "died" (by a signal), "timed out" or "printed too much".
        exit_code: As a shell gives it: 128 + signal for a death by signal.
        output: stdout and stderr together, as bytes decoded where possible.
        seconds: Time from fork to end.
        faults: What the file must not do and did, one sentence each.
    """

    ending: str
    exit_code: int
    output: str
    seconds: float
    faults: tuple[str, ...]


# ---------------------------------------------------------------- the press


class Server:
    """A warm server for one device; runs start at once, results come back."""

    def __init__(self, device: str, environment: Mapping[str, str]) -> None:
        self._control, theirs = socket.socketpair(
            socket.AF_UNIX, socket.SOCK_SEQPACKET
        )
        source = Path(__file__).resolve().parents[1]
        # -P: nothing that lies in the folder of the caller is imported.
        command = [sys.executable, "-P", "-m", "bookpress.worker", device]
        self._process = subprocess.Popen(
            [*command, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            env={**environment, "PYTHONPATH": _path_with(source)},
            stdin=subprocess.DEVNULL,
            # Ctrl-C is for the press alone, which then closes its sockets.
            start_new_session=True,
        )
        theirs.close()

    def start(self, request: Request) -> socket.socket:
        """Begin a run; its result can be read from the socket returned."""
        ours, theirs = socket.socketpair()
        message = json.dumps(asdict(request)).encode()
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS)
        descriptors = array.array("i", [theirs.fileno()])
        try:
            self._control.sendmsg([message], [(*rights, descriptors)])
        except (BrokenPipeError, ConnectionResetError):
            raise ChildProcessError(self._obituary()) from None
        finally:
            theirs.close()
        return ours

    def result(self, connection: socket.socket) -> Run:
        """Read the result of a run; the socket was readable."""
        with connection, connection.makefile("rb") as stream:
            data = stream.read()
        if not data:
            return self._unwatched()
        fields = json.loads(data)
        return Run(**{**fields, "faults": tuple(fields["faults"])})

    def _unwatched(self) -> Run:
        """A run whose supervisor has ended without a word."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1)  # if it has ended, it may take a moment
            raise ChildProcessError(self._obituary())
        fault = "lost its watching process, killed by it or by the system"
        return Run("died", 128 + signal.SIGKILL, "", 0.0, (fault,))

    def _obituary(self) -> str:
        code = self._process.poll()
        return (
            "the server that runs the snippets has ended "
            f"(exit code {code}); its own message stands above"
        )

    def close(self) -> None:
        """End the server; runs that are under way end with their sockets.

        The server outlives its runs, so none is left when this returns.
        """
        ready, _, _ = select.select([self._control], [], [], 0)
        if not ready:  # it is importing, and has not forked yet
            self._process.kill()
        self._control.close()
        self._process.wait()


def _path_with(source: Path) -> str:
    inherited = os.environ.get("PYTHONPATH", "")
    return os.pathsep.join(filter(None, [str(source), inherited]))


# ---------------------------------------------------------------- the server


def serve(device: str, control: socket.socket) -> None:
    """Import what is slow, then fork a supervisor for every request."""
    modules = PRELOAD
    if device == "interpreter":
        modules += PRELOAD_INTERPRETER
    for module in modules:
        importlib.import_module(module)
    # What is imported here lives for ever: no run need search it for garbage.
    gc.freeze()
    # Supervisors are reaped by the kernel.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        control.send(READY)
        _fork_for_requests(control)
    with contextlib.suppress(ChildProcessError):
        os.wait()  # until the last supervisor has ended


def _fork_for_requests(control: socket.socket) -> None:
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 65536, 1)
        if not message:
            return
        if os.fork() == 0:
            with _no_way_back():
                control.close()
                result = socket.socket(fileno=descriptors[0])
                supervise(Request(**json.loads(message)), result)
        os.close(descriptors[0])


@contextlib.contextmanager
def _no_way_back() -> Iterator[None]:
    """A forked process ends here: it must not go on as its parent."""
    try:
        yield
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def supervise(request: Request, result: socket.socket) -> None:
    """Fork the process that runs the file, watch it, send what happened."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # Orphans of the run become our children: none can get away.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    folder = tempfile.mkdtemp(prefix="bookpress-")
    try:
        run = _watch(request, result, folder)
    finally:
        _end_children()
        shutil.rmtree(folder, ignore_errors=True)
    if run is not None:
        with contextlib.suppress(BrokenPipeError):
            result.sendall(json.dumps(asdict(run)).encode())


def _watch(
    request: Request, result: socket.socket, folder: str
) -> Run | None:
    """The run; None when the press no longer wants it."""
    output, output_end = os.pipe()
    notes, notes_end = os.pipe()
    begin = time.monotonic()
    pid = os.fork()
    if pid == 0:
        with _no_way_back():
            result.close()
            _run_file(request, folder, output_end, notes_end)
    os.close(output_end)
    os.close(notes_end)
    printed = bytearray()
    stopped = _wait(pid, output, result, begin + request.timeout, printed)
    if stopped:
        os.kill(pid, signal.SIGKILL)  # what it started follows below
    _, status = os.waitpid(pid, 0)
    seconds = time.monotonic() - begin
    left = [] if stopped else _left_behind()
    _end_children()
    _drain(output, printed)
    if stopped == "unwanted":
        return None
    return _describe(status, stopped, printed, notes, left, seconds)


def _wait(
    pid: int,
    output: int,
    result: socket.socket,
    deadline: float,
    printed: bytearray,
) -> str:
    """Wait until the process ends; why it must be ended, or nothing."""
    ended = os.pidfd_open(pid)
    with selectors.DefaultSelector() as selector:
        for source in (output, ended, result):
            selector.register(source, selectors.EVENT_READ)
        while (left := deadline - time.monotonic()) > 0:
            ready = {key.fileobj for key, _ in selector.select(left)}
            if result in ready:
                return "unwanted"
            if output in ready:
                chunk = os.read(output, 65536)
                printed += chunk
                if not chunk:
                    selector.unregister(output)
            elif ended in ready:
                os.close(ended)
                return ""
            if len(printed) > OUTPUT_LIMIT:
                return "printed too much"
    return "timed out"


def _drain(output: int, printed: bytearray) -> None:
    while len(printed) <= OUTPUT_LIMIT and (chunk := os.read(output, 65536)):
        printed += chunk


def _describe(
    status: int,
    stopped: str,
    printed: bytearray,
    notes: int,
    left: list[str],
    seconds: float,
) -> Run:
    with os.fdopen(notes) as stream:
        said = stream.read().splitlines()
    faults = [f"left a child process behind: {name}" for name in left]
    faults += [note for note in said if note not in ("finished", "raised")]
    try:
        output = printed.decode("utf-8")
    except UnicodeDecodeError as error:
        output = printed.decode("utf-8", errors="backslashreplace")
        byte = printed[error.start]
        line = printed.count(b"\n", 0, error.start) + 1
        faults.append(
            f"printed bytes that are not UTF-8 (0x{byte:02x} in line {line})"
        )
    code = os.waitstatus_to_exitcode(status)
    ending = "exited early"
    if stopped:
        ending = stopped
    elif code < 0:
        ending = "died"
    elif said and said[-1] in ("finished", "raised"):
        ending = said[-1]
    exit_code = 128 - code if code < 0 else code
    return Run(ending, exit_code, output, seconds, tuple(faults))


def _child_pids() -> list[int]:
    listing = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    return [int(pid) for pid in listing.split()]


def _left_behind() -> list[str]:
    """What the run has left; what is just ending is given its time.

    multiprocessing's resource tracker ends a moment after the program.
    """
    patience = time.monotonic() + 1
    while (names := _children()) and time.monotonic() < patience:
        time.sleep(0.01)
    return names


def _children() -> list[str]:
    """The command lines of the processes that live."""
    own = Path("/proc/self/cmdline").read_bytes()
    names = []
    for pid in _child_pids():
        with contextlib.suppress(OSError):
            stat = Path(f"/proc/{pid}/stat").read_text()
            if stat.rpartition(")")[2].split()[0] == "Z":
                continue
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            words = command.replace(b"\0", b" ").decode(errors="replace")
            name = words.strip()[:80] or str(pid)
            names.append("a fork of itself" if command == own else name)
    return names


def _end_children() -> None:
    while pids := _child_pids():
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


# ------------------------------------------------------------------ the file


def _run_file(
    request: Request, folder: str, output: int, notes: int
) -> NoReturn:
    """Become `python FILE`: nothing of the press is left but its guards."""
    os.setsid()
    # Without its supervisor nobody would end it.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    os.chdir(folder)
    _set_streams()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _set_path(request)
    _lock_folders(folder)
    _guard_tree(Path(request.root), lambda note: _note(notes, note))
    code = _run_to_end(request.path, notes)
    with contextlib.suppress(OSError, ValueError):  # it may have closed it
        sys.stdout.flush()
    ctypes.CDLL(None).fflush(None)
    os._exit(code)


def _set_streams() -> None:
    """Line by line, in Python and in C: what both print comes in order."""
    libc = ctypes.CDLL(None)
    libc.setvbuf(ctypes.c_void_p.in_dll(libc, "stdout"), None, IOLBF, 0)
    # New ones: those of the server may be on a file, which knows positions.
    for name, number, errors in (
        ("stdout", 1, "strict"),
        ("stderr", 2, "backslashreplace"),
    ):
        stream = os.fdopen(number, "w", 1, "utf-8", errors, closefd=False)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _note(notes: int, text: str) -> None:
    os.write(notes, f"{text}\n".encode())


def _set_path(request: Request) -> None:
    source = str(Path(request.root) / "src")
    path = [p for p in sys.path if p != source]
    packages = [] if request.alone else [source]
    if request.alone:
        for name in os.listdir(source):  # they may be installed as well
            sys.modules[name] = None  # pyright: ignore[reportArgumentType]
    sys.path[:] = [str(Path(request.path).parent), *packages, *path]
    sys.argv[:] = [request.path]
    # What the file starts in turn finds the same packages.
    inherited = os.environ["PYTHONPATH"].split(os.pathsep)
    others = [p for p in inherited if p != source]
    os.environ["PYTHONPATH"] = os.pathsep.join([*packages, *others])


def _lock_folders(folder: str) -> None:
    """Let the file write into its own folder only, by whatever means.

    Not on a GPU: its compiler and its driver keep caches of their own.
    """
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    if "TRITON_INTERPRET" in os.environ and can_lock():
        write_only_below([folder, "/dev", "/proc"])


def _guard_tree(root: Path, note: Callable[[str], None]) -> None:
    """Refuse, and tell of, all that Python code tries to write in root."""

    def refuse(path: Any, folder: int = -1) -> None:
        if not isinstance(path, str | bytes | os.PathLike):
            return
        base = "" if folder == -1 else os.readlink(f"/proc/self/fd/{folder}")
        # Real: links and dots do not lead around the guard.
        target = Path(os.path.realpath(os.path.join(base, os.fsdecode(path))))
        if target.is_relative_to(root):
            where = target.relative_to(root)
            note(f"tried to write into the project: {where}")
            raise PermissionError(
                f"a snippet must not write into the project: {where}"
            )

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and flags & WRITING:
                refuse(path)
        elif event == "os.truncate":
            refuse(arguments[0])
        for path, folder in CHANGING.get(event, ()):
            refuse(arguments[path], arguments[folder])

    sys.addaudithook(hook)


def _run_to_end(path: str, notes: int) -> int:
    """Run the file as `__main__`; its exit code."""
    code = 0
    names: dict[str, Any] = {}
    try:
        names = runpy.run_path(path, run_name="__main__")
        ending = "finished"
    except SystemExit as stop:
        ending = ""
        code = _exit_code(stop)
    except BaseException as error:
        ending = "raised"
        code = 1
        _print_traceback(error, path)
    # A Python program ends so: threads, exit functions, what names stand for.
    threading._shutdown()  # pyright: ignore[reportAttributeAccessIssue]
    atexit._run_exitfuncs()
    names.clear()
    gc.collect()
    if ending:
        _note(notes, ending)
    return code


def _exit_code(stop: SystemExit) -> int:
    if stop.code is None:
        return 0
    if isinstance(stop.code, int):
        return stop.code & 0xFF
    print(stop.code, file=sys.stderr)
    return 1


def _print_traceback(error: BaseException, path: str) -> None:
    """As Python prints it, from the file on: without the press's frames."""
    frame = error.__traceback__
    while frame and frame.tb_frame.f_code.co_filename != path:
        frame = frame.tb_next
    traceback.print_exception(error.with_traceback(frame))


if __name__ == "__main__":
    serve(sys.argv[1], socket.socket(fileno=int(sys.argv[2])))
