"""One file in a process of its own: what happened, and what is left."""

import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bookpress.landlock import can_lock
from bookpress.worker import OUTPUT_LIMIT, Request, Run, Server

pytestmark = pytest.mark.xdist_group("worker")

RunSource = Callable[..., Run]


@pytest.fixture(scope="module")
def project(
    tmp_path_factory: pytest.TempPathFactory,
    make_project: Callable[[Path, dict[str, str]], Path],
) -> Path:
    return make_project(
        tmp_path_factory.mktemp("worker") / "project",
        {"src/kernels/__init__.py": "NAME = 'ours'\n"},
    )


@pytest.fixture(scope="module")
def server(press_environment: dict[str, str]) -> Iterator[Server]:
    server = Server("interpreter", press_environment)
    yield server
    server.close()


@pytest.fixture(scope="module")
def run_file(server: Server, project: Path) -> RunSource:
    """Write a file into the project and run it."""

    def run(source: str, timeout: float = 60, alone: bool = False) -> Run:
        path = project / "snippets" / "file.py"
        path.write_text(source, encoding="utf-8")
        request = Request(str(path), str(project), alone, timeout)
        return server.result(server.start(request))

    return run


@pytest.fixture
def nothing_left(
    server: Server,
    processes: Callable[[], list[int]],
    eventually: Callable[..., None],
) -> Callable[[], None]:
    """Only the server lives; the supervisor may take a moment to end."""
    alone = [server._process.pid]
    return lambda: eventually(lambda: processes() == alone, 10)


@pytest.mark.parametrize(
    ("source", "ending", "exit_code"),
    [
        ("x = 1", "finished", 0),
        ("raise ValueError('no')", "raised", 1),
        ("import sys; sys.exit(0)", "exited early", 0),
        ("import sys; sys.exit()", "exited early", 0),
        ("import sys; sys.exit(3)", "exited early", 3),
        ("import sys; sys.exit('why')", "exited early", 1),
        ("import os; os._exit(0)", "exited early", 0),
        ("import os; os._exit(4)", "exited early", 4),
        ("import os; os.abort()", "died", 134),
        ("import os; os.kill(os.getpid(), 9)", "died", 137),
        ("import ctypes; ctypes.string_at(0)", "died", 139),
        ("import os; os.killpg(0, 15)", "died", 143),
        ("import sys; sys.stdout.close()", "finished", 0),
        ("import os; os.close(1); os.close(2)", "finished", 0),
    ],
)
def test_endings_are_told_apart(
    run_file: RunSource, source: str, ending: str, exit_code: int
) -> None:
    run = run_file(f"print('begun')\n{source}\n")
    assert (run.ending, run.exit_code) == (ending, exit_code)
    assert run.output.startswith("begun\n")
    assert run.faults == ()


def test_a_traceback_begins_in_the_file(
    run_file: RunSource, project: Path
) -> None:
    run = run_file("def f():\n    raise ValueError('no')\n\n\nf()\n")
    alone = subprocess.run(
        [sys.executable, project / "snippets" / "file.py"],
        capture_output=True,
        text=True,
    )
    assert run.output == alone.stderr
    assert "worker.py" not in run.output


def test_the_message_of_sys_exit_is_printed(run_file: RunSource) -> None:
    assert run_file("raise SystemExit('too old')").output == "too old\n"


def test_a_hang_is_ended_with_all_that_it_started(
    run_file: RunSource, nothing_left: Callable[[], None]
) -> None:
    run = run_file(
        "import os, subprocess, time\n"
        "subprocess.Popen(['sleep', '60'])\n"
        "subprocess.Popen(['sleep', '60'], start_new_session=True)\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        time.sleep(60)\n"
        "    os._exit(0)\n"
        "print('begun')\n"
        "time.sleep(60)\n",
        timeout=0.5,
    )
    assert (run.ending, run.output) == ("timed out", "begun\n")
    assert 0.5 <= run.seconds < 20
    nothing_left()


def test_a_hang_that_ignores_signals_is_ended(run_file: RunSource) -> None:
    run = run_file(
        "import signal, time\n"
        "for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):\n"
        "    signal.signal(number, signal.SIG_IGN)\n"
        "time.sleep(60)\n",
        timeout=0.3,
    )
    assert run.ending == "timed out"


@pytest.mark.parametrize(
    "source",
    [
        "print('x' * 10_000_000)",
        "while True:\n    print('x' * 99)",
        "import subprocess; subprocess.run(['yes'])",
    ],
)
def test_a_flood_of_output_is_ended(
    run_file: RunSource, nothing_left: Callable[[], None], source: str
) -> None:
    run = run_file(source)
    assert run.ending == "printed too much"
    assert OUTPUT_LIMIT < len(run.output) <= OUTPUT_LIMIT + 65536
    nothing_left()


def test_much_output_within_the_limit_comes_whole(
    run_file: RunSource,
) -> None:
    source = "import sys; sys.stdout.write('x' * 199_000 + 'end')"
    run = run_file(source)
    assert run.ending == "finished"
    assert len(run.output) == 199_003
    assert run.output.endswith("xend")


def test_bytes_that_are_not_utf8_are_a_fault(run_file: RunSource) -> None:
    run = run_file(
        "import os\n"
        "print('first: α')\n"
        "os.write(1, bytes([111, 107, 255, 10]))\n"
    )
    assert run.output == "first: α\nok\\xff\n"
    assert run.faults == (
        "printed bytes that are not UTF-8 (0xff in line 2)",
    )


LEFT_BEHIND = {
    "a child": "subprocess.Popen(['sleep', '60'])",
    "a child in a session of its own": (
        "subprocess.Popen(['sleep', '60'], start_new_session=True)"
    ),
    "a grandchild": "subprocess.run('sleep 60 &', shell=True)",
    "a daemon": (
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        os.execlp('sleep', 'sleep', '60')\n"
        "    os._exit(0)\n"
        "os.wait()\n"
    ),
}


@pytest.mark.parametrize("how", LEFT_BEHIND)
def test_a_process_left_behind_is_a_fault_and_is_ended(
    run_file: RunSource, nothing_left: Callable[[], None], how: str
) -> None:
    # Once it is asleep it has become `sleep`.
    run = run_file(
        f"import os, subprocess, time\n{LEFT_BEHIND[how]}\ntime.sleep(0.2)\n"
    )
    assert run.ending == "finished"
    assert run.faults == ("left a child process behind: sleep 60",)
    nothing_left()


def test_a_fork_left_behind_is_called_so(
    run_file: RunSource, nothing_left: Callable[[], None]
) -> None:
    run = run_file("import os, time\nif os.fork() == 0: time.sleep(60)\n")
    assert run.faults == ("left a child process behind: a fork of itself",)
    nothing_left()


@pytest.mark.parametrize(
    "source",
    [
        # The resource tracker of multiprocessing ends after the program.
        "from multiprocessing.shared_memory import SharedMemory\n"
        "memory = SharedMemory(create=True, size=8)\n"
        "memory.close()\n"
        "memory.unlink()\n",
        "import subprocess\nsubprocess.Popen(['sleep', '0.2'])\n",
    ],
)
def test_a_child_that_is_just_ending_is_no_fault(
    run_file: RunSource, source: str
) -> None:
    assert run_file(source).faults == ()


def test_a_child_that_ended_is_no_fault(run_file: RunSource) -> None:
    run = run_file(
        "import subprocess, time\n"
        "child = subprocess.Popen(['true'])\n"  # never waited for
        "time.sleep(0.3)\n"
    )
    assert run.faults == ()


WRITES = {
    "open": "open(root + '/new.txt', 'w')",
    "append": "open(root + '/pyproject.toml', 'a')",
    "update": "open(root + '/pyproject.toml', 'r+')",
    "bytes": "open(os.fsencode(root + '/new.txt'), 'xb')",
    "pathlib": "pathlib.Path(root, 'new.txt').write_text('x')",
    "os.open": "os.open(root + '/new.txt', os.O_CREAT)",
    "mkdir": "os.mkdir(root + '/new.txt')",
    "rename": "os.rename(root + '/pyproject.toml', root + '/new.txt')",
    "symlink": "os.symlink('/etc', root + '/new.txt')",
    "truncate": "os.truncate(root + '/pyproject.toml', 0)",
    "remove": "os.remove(root + '/pyproject.toml')",
    "rmtree": "shutil.rmtree(root)",
    "by dots": "open(os.getcwd() + '/../..' + root + '/new.txt', 'w')",
    "by a link": ("os.symlink(root, 'link'); open('link/new.txt', 'w')",)[0],
    "relative": "os.chdir(root); open('new.txt', 'w')",
}


@pytest.mark.parametrize("how", WRITES)
def test_writing_into_the_project_is_refused_and_told(
    run_file: RunSource, project: Path, how: str
) -> None:
    before = sorted(project.rglob("*"))
    run = run_file(
        "import os, pathlib, shutil\n"
        f"root = {str(project)!r}\n"
        "try:\n"
        f"    {WRITES[how]}\n"
        "except PermissionError as error:\n"
        "    print(error)\n"  # to catch it does not hide it
    )
    assert run.ending == "finished", run.output
    assert "a snippet must not write into the project: " in run.output
    assert run.faults
    assert all(
        fault.startswith("tried to write into the project: ")
        for fault in run.faults
    )
    assert sorted(project.rglob("*")) == before
    assert (project / "pyproject.toml").read_text().count("\n") == 3


def test_reading_the_project_and_writing_into_its_own_folder_is_no_fault(
    run_file: RunSource, project: Path
) -> None:
    run = run_file(
        "import multiprocessing, os, subprocess, tempfile\n"
        f"print(len(open({str(project)!r} + '/pyproject.toml').read()))\n"
        "os.mkdir('here')\n"
        "open('here/a.txt', 'w').write('x')\n"
        "os.rename('here/a.txt', 'b.txt')\n"
        "tempfile.TemporaryFile().write(b'x')\n"
        "subprocess.run('mktemp > /dev/null', shell=True, check=True)\n"
        "multiprocessing.Lock()\n"  # lies in /dev/shm
    )
    assert (run.ending, run.faults) == ("finished", ()), run.output


# None of these is seen by Python's audit events.
C_WRITES = {
    "a child": "subprocess.run(['touch', new])",
    "a child's child": "os.system('rm -r ' + root + '/src/kernels')",
    "a database": "sqlite3.connect(new).execute('create table t (x)')",
    "make": "libc.creat(new.encode(), 0o600)",
    "write": "libc.write(libc.open(old, os.O_WRONLY), b'x', 1)",
    "truncate": "libc.truncate(old, 0)",
    "rename": "libc.rename(os.fsencode(root + '/src'), b'moved')",
    "link": "libc.link(old, new.encode())",
    "mkdir": "libc.mkdir(new.encode(), 0o700)",
    "remove": "libc.unlink(old)",
}


def contents(folder: Path) -> dict[Path, bytes]:
    """All that is in it, but for the file that is run."""
    return {
        path: path.read_bytes() if path.is_file() else b""
        for path in folder.rglob("*")
        if path.name != "file.py"
    }


@pytest.mark.skipif(not can_lock(), reason="this kernel has no Landlock")
@pytest.mark.parametrize("how", C_WRITES)
def test_what_is_not_python_cannot_write_into_the_project(
    run_file: RunSource, project: Path, how: str
) -> None:
    before = contents(project)
    run_file(
        "import ctypes, os, sqlite3, subprocess\n"
        "libc = ctypes.CDLL(None)\n"
        f"root, new = {str(project)!r}, {str(project / how)!r}\n"
        "old = os.fsencode(root + '/pyproject.toml')\n"
        f"{C_WRITES[how]}\n"
    )
    assert contents(project) == before


def test_without_landlock_the_guard_of_python_is_left(
    project: Path, tmp_path: Path, press_environment: dict[str, str]
) -> None:
    # As in a kernel that is too old: the server is told that it cannot.
    (tmp_path / "numpy.py").write_text(
        "import bookpress.landlock as it\nit._call = lambda *_: 2\n"
    )
    path = f"{tmp_path}:{press_environment['PYTHONPATH']}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", path)
        server = Server("interpreter", press_environment)
    file = project / "snippets" / "old.py"
    file.write_text(
        f"open({str(tmp_path / 'there')!r}, 'w')\nopen(__file__, 'a')"
    )
    run = server.result(
        server.start(Request(str(file), str(project), False, 60))
    )
    server.close()
    assert (tmp_path / "there").exists()
    assert run.ending == "raised"
    assert run.faults == ("tried to write into the project: snippets/old.py",)


def test_a_file_runs_in_an_empty_folder_that_goes_away(
    run_file: RunSource,
) -> None:
    run = run_file(
        "import os\n"
        "print(os.listdir())\n"
        "print(os.getcwd())\n"
        "open('left.txt', 'w').close()\n"
    )
    listing, folder = run.output.splitlines()
    assert listing == "[]"
    assert not Path(folder).exists()


def test_python_c_and_subprocesses_print_in_order(
    run_file: RunSource,
) -> None:
    run = run_file(
        "import ctypes, subprocess, sys\n"
        "libc = ctypes.CDLL(None)\n"
        "print('1 Python')\n"
        "libc.printf(b'2 C\\n')\n"
        "sys.stdout.write('3 ')\n"
        "print('Python')\n"
        "libc.puts(b'4 C')\n"
        "print('5 stderr', file=sys.stderr)\n"
        "subprocess.run(['echo', '6 subprocess'])\n"
        "libc.printf(b'7 C, no end of line')\n"
    )
    assert run.output.splitlines() == [
        "1 Python",
        "2 C",
        "3 Python",
        "4 C",
        "5 stderr",
        "6 subprocess",
        "7 C, no end of line",
    ]


def test_a_file_is_run_as_python_runs_it(
    run_file: RunSource, project: Path
) -> None:
    run = run_file(
        "import sys\n"
        "print(__name__, __file__ == sys.argv[0], len(sys.argv))\n"
        "print(sys.path[0])\n"
        "print(repr(sys.stdin.read()))\n"
        "print([n for n in dir() if not n.startswith('__')])\n"
        "print(vars(sys.modules['__main__']) is globals())\n"
    )
    assert run.output.splitlines() == [
        "__main__ True 1",
        str(project / "snippets"),
        "''",
        "['sys']",
        "True",
    ]


@pytest.mark.parametrize("last", ["print('last line')", "raise ValueError"])
def test_threads_exit_functions_and_names_end_as_in_python(
    run_file: RunSource, project: Path, last: str
) -> None:
    run = run_file(
        "import atexit, threading, time\n"
        "class Name:\n"
        "    def __del__(self):\n"
        "        print('name')\n"
        "def late():\n"
        "    time.sleep(0.2)\n"
        "    print('thread', time.__name__)\n"
        "name = Name()\n"
        "threading.Thread(target=late).start()\n"
        "atexit.register(lambda: print('exit function', atexit.__name__))\n"
        f"{last}\n"
    )
    alone = subprocess.run(
        [sys.executable, project / "snippets" / "file.py"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert run.output == alone.stdout
    assert run.output.count("\n") >= 4


def test_names_outlive_exit_functions(run_file: RunSource) -> None:
    run = run_file(
        "import atexit\n"
        "class Name:\n"
        "    def __del__(self):\n"
        "        print('name')\n"
        "name = Name()\n"
        "del Name\n"
        "atexit.register(print, 'exit function')\n"
    )
    assert run.output == "exit function\nname\n"


def test_one_run_knows_nothing_of_another(run_file: RunSource) -> None:
    run_file("import os, json; json.x = 1; os.environ['X_OF_RUN'] = '1'")
    run = run_file(
        "import os, json; print(hasattr(json, 'x'), 'X_OF_RUN' in os.environ)"
    )
    assert run.output == "False False\n"


def test_the_project_is_on_the_path_of_what_a_file_starts(
    run_file: RunSource,
) -> None:
    source = (
        "import subprocess, sys\n"
        "import kernels\n"
        "print(kernels.NAME, flush=True)\n"
        "code = 'import kernels; print(kernels.NAME)'\n"
        "subprocess.run([sys.executable, '-c', code])\n"
    )
    assert run_file(source).output == "ours\nours\n"


def test_a_file_that_runs_alone_finds_no_package_of_ours(
    run_file: RunSource, project: Path
) -> None:
    installed = project.parent / "installed"
    installed.mkdir()
    (installed / "kernels.py").touch()
    source = (
        "import sys\n"
        f"sys.path.append({str(installed)!r})\n"
        "try:\n"
        "    import kernels\n"
        "except ModuleNotFoundError as error:\n"
        "    print(error.name)\n"
    )
    assert run_file(source, alone=True).output == "kernels\n"
    assert run_file(source).output == ""


def test_runs_go_on_side_by_side(server: Server, project: Path) -> None:
    path = project / "snippets" / "side.py"
    path.write_text("import time; time.sleep(1); print('done')")
    request = Request(str(path), str(project), False, 60)
    begin = time.monotonic()
    connections = [server.start(request) for _ in range(4)]
    runs = [server.result(connection) for connection in connections]
    assert [run.output for run in runs] == ["done\n"] * 4
    assert time.monotonic() - begin < 3


def test_a_run_ends_when_its_socket_is_closed(
    project: Path,
    press_environment: dict[str, str],
    processes: Callable[[], list[int]],
    capfd: pytest.CaptureFixture[str],
) -> None:
    path = project / "snippets" / "unwanted.py"
    path.write_text("import time; time.sleep(60)")
    request = Request(str(path), str(project), False, 60)
    before = processes()
    server = Server("interpreter", press_environment)
    select.select([server._control], [], [])
    # At once, and while it begins: there is no moment that is too early.
    for pause in (*[0] * 50, 0.001, 0.002, 0.005, 0.01, 0.2):
        connection = server.start(request)
        time.sleep(pause)
        connection.close()
    server.close()
    assert processes() == before
    assert capfd.readouterr().err == ""


def test_output_may_go_into_a_file(
    project: Path, press_environment: dict[str, str], tmp_path: Path
) -> None:
    code = (
        "import sys\n"
        "from bookpress.worker import Request, Server\n"
        "from bookpress.digest import environment\n"
        "server = Server('interpreter', environment('interpreter'))\n"
        "request = Request(*sys.argv[1:3], False, 60)\n"
        "print(server.result(server.start(request)).output)\n"
        "server.close()\n"
    )
    path = project / "snippets" / "prints.py"
    path.write_text("print('done')")
    log = tmp_path / "log"
    with log.open("a") as stream:
        stream.write("before\n")
        stream.flush()
        subprocess.run(
            [sys.executable, "-c", code, str(path), str(project)],
            stdout=stream,
            stderr=stream,
            check=True,
        )
    assert log.read_text() == "before\ndone\n\n"


def test_closing_does_not_wait_for_the_imports(
    press_environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "torch.py").write_text("import time; time.sleep(60)")
    path = f"{tmp_path}:{press_environment['PYTHONPATH']}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", path)
        server = Server("interpreter", press_environment)
    begin = time.monotonic()
    server.close()
    assert time.monotonic() - begin < 5


def test_no_process_is_left_when_the_server_is_closed(
    press_environment: dict[str, str],
    project: Path,
    tmp_path: Path,
    processes: Callable[[], list[int]],
    eventually: Callable[..., None],
) -> None:
    before = processes()
    environment = {**press_environment, "TMPDIR": str(tmp_path)}
    server = Server("interpreter", environment)
    path = project / "snippets" / "long.py"
    # Its folder takes a while to remove.
    path.write_text(
        "import pathlib, time\n"
        "for number in range(5000):\n"
        "    pathlib.Path(str(number)).touch()\n"
        "time.sleep(60)\n"
    )
    request = Request(str(path), str(project), False, 60)
    connection = server.start(request)
    eventually(lambda: any(tmp_path.glob("bookpress-*/4999")))
    connection.close()
    server.close()
    assert processes() == before
    assert not any(tmp_path.iterdir())


def test_a_server_that_cannot_start_says_so(
    press_environment: dict[str, str],
    project: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('no torch here')")
    path = f"{tmp_path}:{press_environment['PYTHONPATH']}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", path)
        server = Server("interpreter", press_environment)
    request = Request(str(project / "x.py"), str(project), False, 60)
    with pytest.raises(ChildProcessError, match="the snippets has ended"):
        server.result(server.start(request))
    server.close()
    assert "no torch here" in capfd.readouterr().err
