"""Outputs from a GPU: recorded there, read here.

The GPU is a program called nvidia-smi and a torch that says it has one;
the snippets do without.
"""

import datetime
import platform
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

from bookpress.errors import PressError
from bookpress.hardware import slug
from bookpress.recordings import Recording, recordings
from bookpress.snippet import Snippet

Command = Callable[..., subprocess.CompletedProcess[str]]
Write = Callable[[str, str], Path]

SOURCE = """\
'''A.'''

# /// script
# [tool.bookpress]
# exit-code = {interpreter = 139, cuda = 3}
# ///

import os

from kernels.name import NAME

print("kernels:", NAME, os.environ.get("TRITON_INTERPRET"), flush=True)
os._exit(3)
"""


@pytest.fixture
def project(
    root: Path,
    make_project: Callable[[Path, dict[str, str]], Path],
    fake_gpu: Callable[[str | None], None],
) -> Path:
    fake_gpu("NVIDIA H200")
    return make_project(
        root,
        {
            "src/kernels/__init__.py": "",
            "src/kernels/name.py": "NAME = 'ours'\n",
            "snippets/ch01/01_a.py": SOURCE,
            "snippets/ch01/02_cpu.py": (
                "# /// script\n# [tool.bookpress]\n"
                "# devices = ['interpreter']\n# ///\nprint('b: 1')\n"
            ),
        },
    )


@pytest.fixture
def snippet(project: Path) -> Snippet:
    return Snippet("ch01/01_a", project)


def test_what_it_ran_on_is_written_and_read(
    snippet: Snippet, command: Command
) -> None:
    done = command("bookpress", "record", "--commit", "abc1234")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "snippets/ch01/01_a.py: new"
    assert re.fullmatch(r"recorded 1 of 1 snippets in \d+ s", lines[1])
    path = snippet.path.with_name("01_a.h200.out")
    assert path.read_text().startswith("# gpu: NVIDIA H200\n# driver: 570.1")
    (recording,) = recordings(snippet)
    digest = recording.facts.pop("digest")
    assert len(digest) == 16
    assert recording == Recording(
        device="h200",
        facts={
            "gpu": "NVIDIA H200",
            "driver": "570.1",
            "python": platform.python_version(),
            "torch": version("torch"),
            "triton": version("triton"),
            "numpy": version("numpy"),
            "commit": "abc1234",
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "exit code": "3",
        },
        output="kernels: ours None\n",
        stale=False,
    )
    assert not snippet.path.with_name("02_cpu.h200.out").exists()


@pytest.mark.parametrize(
    ("file", "stale"),
    [
        ("snippets/ch01/01_a.py", True),
        ("src/kernels/name.py", True),
        ("src/kernels/other.py", False),
    ],
)
def test_it_is_stale_when_a_source_has_changed(
    project: Path,
    snippet: Snippet,
    command: Command,
    file: str,
    stale: bool,
) -> None:
    command("bookpress", "record", "--commit", "abc1234")
    with (project / file).open("a") as stream:
        stream.write("# changed\n")
    (recording,) = recordings(Snippet(snippet.name, project))
    assert recording.stale is stale


def test_it_says_what_has_changed_and_what_is_still_stale(
    project: Path, command: Command, write: Write
) -> None:
    write(
        "snippets/ch01/03_b.py",
        "# /// script\n# [tool.bookpress]\n# varies = ['t']\n# ///\n"
        "import time\nprint(f'b: 1\\nt: {time.time_ns()}')\n",
    )
    for name in ("01_a", "02_cpu", "03_b"):
        write(f"snippets/ch01/{name}.interpreter.out", "recorded\n")
    record = ("bookpress", "record", "--commit", "abc1234")
    command(*record)
    same = command(*record).stdout.splitlines()
    assert len(same) == 1, same
    write("src/kernels/name.py", "NAME = 'yours'\n")
    file = project / "snippets/ch01/03_b.py"
    file.write_text(file.read_text() + "# changed\n")
    lines = command(*record, "ch01/01_a").stdout.splitlines()
    assert lines[:3] == [
        "snippets/ch01/01_a.py: changed:",
        "    - kernels: ours None",
        "    + kernels: yours None",
    ]
    assert lines[4:6] == ["", "stale, or not recorded:"]
    assert [line.split()[:2] for line in lines[6:]] == [["ch01/03_b", "h200"]]


def test_nothing_is_recorded_of_a_snippet_that_fails(
    project: Path, snippet: Snippet, command: Command, write: Write
) -> None:
    write("snippets/ch01/03_raises.py", "raise ValueError('no GPU code')\n")
    done = command("bookpress", "record", "--commit", "abc1234")
    assert done.returncode == 1
    assert "snippets/ch01/03_raises.py on the GPU: exit code 1" in done.stdout
    assert "ValueError: no GPU code" in done.stdout
    assert "recorded 1 of 2 snippets" in done.stdout
    recorded = [path.name for path in project.rglob("*.h200.out")]
    assert recorded == ["01_a.h200.out"]


def test_the_commit_is_asked_of_git(
    project: Path, snippet: Snippet, command: Command
) -> None:
    done = command("bookpress", "record")
    assert done.returncode == 2
    assert "rev-parse" in done.stderr
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run([*git, "init", "-q"], cwd=project, check=True)
    commit = [*git, "commit", "-q", "--allow-empty", "-m", "x"]
    subprocess.run(commit, cwd=project, check=True)
    assert command("bookpress", "record").returncode == 0
    (recording,) = recordings(snippet)
    head = subprocess.run(
        [*git, "rev-parse", "--short", "HEAD"],
        cwd=project,
        capture_output=True,
        text=True,
    )
    assert recording.facts["commit"] == head.stdout.strip()


def test_without_a_driver_it_says_so(
    project: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    done = command("bookpress", "record", "--commit", "abc1234")
    assert done.returncode == 2
    assert "error: nvidia-smi" in done.stderr


def test_a_torch_that_runs_on_the_cpu_records_nothing(
    project: Path, command: Command, fake_gpu: Callable[[str | None], None]
) -> None:
    fake_gpu(None)
    done = command("bookpress", "record", "--commit", "abc1234")
    assert done.returncode == 2
    assert done.stderr.startswith("error: torch finds no GPU here (")
    assert not list(project.rglob("*.h200.out"))


ONLY = """
import sys

ALLOWED = {*sys.stdlib_module_names, "bookpress", "torch", "triton"}

class Only:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in ALLOWED:
            raise ImportError(f"not on a bare GPU machine: {name}")

sys.meta_path.insert(0, Only())
from bookpress.__main__ import main
sys.exit(main())
"""


def test_it_needs_only_the_standard_library_torch_and_triton(
    project: Path, snippet: Snippet, write: Write
) -> None:
    def only(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", ONLY, *words],
            cwd=project,
            capture_output=True,
            text=True,
        )

    # The server of the runs has no such blocker.
    numpy = write("../numpy.py", "raise ImportError('not on a bare machine')")
    done = only("record", "--commit", "abc1234")
    assert done.returncode == 0, done.stderr
    assert recordings(snippet)
    numpy.unlink()
    # The same blocker is in the way of what compares outputs.
    write("snippets/ch01/02_cpu.interpreter.out", "b: 2\n")
    blocked = only("run")
    assert "not on a bare GPU machine: pytest_doctestplus" in blocked.stderr


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\n",
        "# gpu: NVIDIA H200\na: 1\n",
        "# gpu: NVIDIA H200\n#\na: 1\n",
        "# gpu\n# driver\n#\na: 1\n",
        "",
    ],
)
def test_a_recording_without_its_head_is_an_error(
    project: Path, snippet: Snippet, write: Write, text: str
) -> None:
    write("snippets/ch01/01_a.h200.out", text)
    with pytest.raises(PressError) as caught:
        recordings(snippet)
    assert str(caught.value).startswith(
        "snippets/ch01/01_a.h200.out: no head that tells on what"
    )


def test_the_interpreters_output_is_no_recording(
    project: Path, snippet: Snippet, write: Write
) -> None:
    write("snippets/ch01/01_a.interpreter.out", "a: 1\n")
    write("snippets/ch01/01_ab.h200.out", "another snippet's\n")
    assert recordings(snippet) == []


@pytest.mark.parametrize(
    ("gpu", "name"),
    [
        ("NVIDIA H200", "h200"),
        ("NVIDIA GeForce RTX 4090", "geforce-rtx-4090"),
        ("Tesla T4", "tesla-t4"),
    ],
)
def test_a_gpu_has_a_name_for_files(gpu: str, name: str) -> None:
    assert slug(gpu) == name
