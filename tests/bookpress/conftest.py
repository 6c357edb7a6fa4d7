"""Scratch projects for the press, and a look at the processes it leaves."""

import os
import signal
import subprocess
import sys
import textwrap
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import bookpress
from bookpress.digest import environment
from bookpress.press import Press, Proof
from bookpress.snippet import all_snippets
from bookpress.worker import PRELOAD, PRELOAD_INTERPRETER

SOURCE = Path(bookpress.__file__).parents[1]
PYPROJECT = """
    [project]
    name = "scratch"
    dependencies = ["torch", "triton"]
"""


@pytest.fixture(scope="module", autouse=True)
def _empty_torch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The server imports empty packages: these tests are of the press.

    tests/test_snippets.py uses the real ones.
    """
    folder = tmp_path_factory.mktemp("empty")
    for module in {*PRELOAD, *PRELOAD_INTERPRETER} - {"numpy"}:
        package = folder.joinpath(*module.split("."))
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("BOOKPRESS_CACHE", raising=False)  # CI sets it
        # The press under test first: another one may be installed.
        patch.setenv("PYTHONPATH", f"{SOURCE}:{folder}")
        yield


NVIDIA_SMI = """\
#!/bin/sh
case "$*" in
  *--query-gpu=driver_version*) echo "570.1"; echo "570.1" ;;
  *) echo "a GPU that torch may not use" ;;
esac
"""
TORCH = """\
class cuda:
    is_available = staticmethod(lambda: bool({gpu!r}))
    get_device_name = staticmethod(lambda: {gpu!r})
"""


@pytest.fixture
def fake_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str | None], None]:
    """Have a GPU of this name, or none: a program and a torch that say so.

    What is run "on" it does without.
    """
    tool = tmp_path / "bin" / "nvidia-smi"
    tool.parent.mkdir()
    tool.write_text(NVIDIA_SMI)
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:/usr/bin:/bin")
    path = os.environ["PYTHONPATH"]
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{path}")

    def have(gpu: str | None) -> None:
        (tmp_path / "torch.py").write_text(TORCH.format(gpu=gpu))

    return have


def write_files(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
    return root


@pytest.fixture(scope="session")
def make_project() -> Callable[[Path, dict[str, str]], Path]:
    """Make a project in a folder, of files by their path in it."""

    def make(folder: Path, files: dict[str, str]) -> Path:
        for name in ("snippets", "src", "docs"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        return write_files(folder, {"pyproject.toml": PYPROJECT} | files)

    return make


@pytest.fixture
def root(
    tmp_path: Path, make_project: Callable[[Path, dict[str, str]], Path]
) -> Path:
    """A project without files; others stand beside it, in tmp_path."""
    return make_project(tmp_path / "project", {})


@pytest.fixture
def write(root: Path) -> Callable[[str, str], Path]:
    def write(name: str, text: str) -> Path:
        return write_files(root, {name: text}) / name

    return write


@pytest.fixture
def prove(root: Path) -> Callable[..., dict[str, Proof]]:
    """Prove all snippets of the project, as they now stand."""

    def prove(use_cache: bool = True) -> dict[str, Proof]:
        return Press(root, use_cache=use_cache).prove(all_snippets(root))

    return prove


@pytest.fixture
def command(root: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run `python -m MODULE …` in the project."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", *words],
            cwd=root,
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run


@pytest.fixture(scope="module")
def mark() -> Iterator[str]:
    """Marks, in its environment, what is started while it stands."""
    with pytest.MonkeyPatch.context() as patch:
        value = uuid.uuid4().hex
        patch.setenv("BOOKPRESS_TEST_MARK", value)
        yield value


def marked(mark: str) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            inside = mark.encode() in (folder / "environ").read_bytes()
            zombie = "\nState:\tZ" in (folder / "status").read_text()
        except OSError:
            continue
        if inside and not zombie:
            found.append(int(folder.name))
    return found


@pytest.fixture(scope="module")
def processes(mark: str) -> Callable[[], list[int]]:
    """The processes that live of all that was started here."""
    return lambda: marked(mark)


@pytest.fixture
def interrupt(
    root: Path, tmp_path: Path, processes: Callable[[], list[int]]
) -> Iterator[Callable[..., tuple[int, str, float]]]:
    """Start a command and, once its snippet runs, send it a signal.

    The snippet is `sleeps`, which tells that it runs by a file in its folder.
    """
    source = """
        '''Sleeps, and so does what it starts.'''
        import pathlib, subprocess, time

        subprocess.Popen(["sleep", "600"], start_new_session=True)
        subprocess.Popen(["sleep", "600"])
        pathlib.Path("begun").touch()
        time.sleep(600)
    """
    write_files(root, {"snippets/ch01/01_sleeps.py": source})

    def run(*words: str, number: int) -> tuple[int, str, float]:
        process = subprocess.Popen(
            [sys.executable, "-m", *words],
            cwd=root,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "TMPDIR": str(tmp_path)},
            # Tests that run in the background of a shell ignore it.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        wait_until(lambda: any(tmp_path.glob("bookpress-*/begun")))
        assert len(processes()) >= 5  # press, server, both of the run, sleeps
        begin = time.monotonic()
        process.send_signal(number)
        output, _ = process.communicate(timeout=60)
        seconds = time.monotonic() - begin
        return process.returncode, output, seconds

    yield run
    for pid in processes():
        os.kill(pid, signal.SIGKILL)


def wait_until(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.02)


@pytest.fixture(scope="session")
def eventually() -> Callable[..., None]:
    """Wait until something is so, and fail if it does not come."""
    return wait_until


@pytest.fixture(scope="module")
def press_environment(mark: str) -> dict[str, str]:
    """With the mark, so that `processes` sees what runs in it."""
    return environment("interpreter")
