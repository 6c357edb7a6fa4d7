"""The command line: what it prints, records and returns."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., subprocess.CompletedProcess[str]]
Write = Callable[[str, str], Path]


@pytest.fixture
def project(
    root: Path, make_project: Callable[[Path, dict[str, str]], Path]
) -> Path:
    return make_project(
        root,
        {
            "snippets/ch01/01_a.py": "'''A.'''\nprint('a: 1.00001')\n",
            "snippets/ch01/01_a.interpreter.out": "a: 1.0\n",
            "snippets/ch02/01_b.py": (
                "'''B.'''\n# /// script\n# [tool.bookpress]\n"
                "# fails = 'crash'\n# exit-code = 3\n# ///\n"
                "print('b: 2')\nraise SystemExit(3)\n"
            ),
            "snippets/ch02/02_c.py": (
                "'''C.'''\n# /// script\n# [tool.bookpress]\n"
                "# devices = ['cuda']\n# ///\nprint('c: 3')\n"
            ),
            "snippets/ch02/02_c.h200.out": "# gpu: NVIDIA H200\n#\nc: 3\n",
        },
    )


@pytest.mark.parametrize(
    "name", ["run", "accept", "list", "standalone", "record"]
)
def test_each_command_explains_itself(command: Command, name: str) -> None:
    done = command("bookpress", name, "--help")
    assert done.returncode == 0
    assert f"python -m bookpress {name}" in done.stdout
    assert len(done.stdout.splitlines()) > 5


def test_the_help_has_examples_that_run(
    project: Path, command: Command
) -> None:
    done = command("bookpress", "--help")
    assert done.returncode == 0
    examples = [
        line.split("bookpress ")[1].split("   ")[0].split(" | ")[0].split()
        for line in done.stdout.splitlines()
        if line.startswith("  python -m bookpress ")
    ]
    assert [words[0] for words in examples] == [
        "run",
        "run",
        "run",
        "accept",
        "list",
        "list",
        "standalone",
        "record",
    ]
    assert command("bookpress", *examples[4]).returncode == 0
    assert command("bookpress", *examples[6]).returncode == 0


def test_without_a_command_it_says_what_there_is(command: Command) -> None:
    done = command("bookpress")
    assert done.returncode == 2
    assert "COMMAND" in done.stderr


def test_run_of_one_prints_its_output_and_what_failed(
    project: Path, command: Command
) -> None:
    done = command("bookpress", "run", "ch01/01_a")
    assert done.returncode == 0
    assert done.stdout == "a: 1.00001\n"
    assert "proven" in done.stderr
    assert "1 snippets, 0 failures" in done.stderr
    assert "as before" in command("bookpress", "run", "ch01/01_a").stderr
    again = command("bookpress", "run", "ch01/01_a", "--no-cache")
    assert "as before" not in again.stderr


def test_the_cache_is_on_or_off(
    project: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    command("bookpress", "run", "ch01/01_a")
    for value, cached in (("on", True), ("off", False)):
        monkeypatch.setenv("BOOKPRESS_CACHE", value)
        done = command("bookpress", "run", "ch01/01_a")
        assert ("as before" in done.stderr) is cached
    monkeypatch.setenv("BOOKPRESS_CACHE", "0")
    done = command("bookpress", "run", "ch01/01_a")
    assert done.returncode == 2
    assert done.stderr == "error: BOOKPRESS_CACHE='0': it takes on or off\n"


def test_run_of_all_proves_what_runs_here_and_fails_if_one_does(
    project: Path, command: Command
) -> None:
    done = command("bookpress", "run")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "snippets/ch02/01_b.py: no output is recorded" in done.stderr
    assert "2 snippets, 1 failures" in done.stderr
    assert "\r" not in done.stderr  # plain lines where no terminal is
    assert not list(project.glob("snippets/ch02/*.interpreter.out"))


def test_accept_records_what_drifted_and_nothing_else(
    project: Path, command: Command
) -> None:
    recorded = project / "snippets/ch01/01_a.interpreter.out"
    before = recorded.stat()
    done = command("bookpress", "accept")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "recorded snippets/ch02/01_b.interpreter.out\n"
    new = project / "snippets/ch02/01_b.interpreter.out"
    assert new.read_text() == "b: 2\n"
    # Within tolerance: neither rewritten nor touched.
    assert recorded.read_text() == "a: 1.0\n"
    assert recorded.stat().st_mtime_ns == before.st_mtime_ns
    assert command("bookpress", "run").returncode == 0


def test_accept_rewrites_only_the_line_that_drifted(
    project: Path, command: Command, write: Write
) -> None:
    write("snippets/ch01/01_a.py", "print('a: 1.00001\\nb: 5\\nc: 2.00001')")
    recorded = write(
        "snippets/ch01/01_a.interpreter.out", "a: 1.0\nb: 4\nc: 2.0\n"
    )
    assert command("bookpress", "accept", "ch01").returncode == 0
    assert recorded.read_text() == "a: 1.0\nb: 5\nc: 2.0\n"


FAILING = {
    "raises": (
        "print('a: 2')\nraise ValueError('no')",
        "ValueError: no",
    ),
    "exits": (
        "print('a: 2')\nimport os\nos._exit(0)",
        "before its last line",
    ),
    "silent": ("x = 1", "it printed nothing"),
    "no_python": ("print('a: 2'", "'(' was never closed"),
    "bad_key": (
        "# /// script\n# [tool.bookpress]\n# rtoll = 1\n# ///\nprint('a: 2')",
        "did you mean 'rtol'?",
    ),
    "leaves": (
        "import os, subprocess, time\nprint('a: 2')\n"
        "subprocess.Popen(['sleep', '60'])\ntime.sleep(0.2)",
        "left a child process behind",
    ),
}


def test_accept_does_not_record_what_failed(
    project: Path, command: Command, write: Write
) -> None:
    for name, (source, _) in FAILING.items():
        write(f"snippets/ch01/{name}.py", source)
        write(f"snippets/ch01/{name}.interpreter.out", "a: 1\n")
    write("snippets/ch01/new.py", "print('a: 2')\nraise ValueError('new')")
    done = command("bookpress", "accept")
    assert done.returncode == 1
    for name, (_, reason) in FAILING.items():
        assert f"\nsnippets/ch01/{name}.py:" in done.stderr
        assert reason in done.stderr
        recorded = project / f"snippets/ch01/{name}.interpreter.out"
        assert recorded.read_text() == "a: 1\n"
    assert not (project / "snippets/ch01/new.interpreter.out").exists()
    # The others are accepted all the same.
    assert done.stdout == "recorded snippets/ch02/01_b.interpreter.out\n"


def test_accept_goes_on_after_an_output_that_cannot_be_written(
    project: Path, command: Command, write: Write
) -> None:
    for name in ("a_folder", "b_bytes"):
        write(f"snippets/ch01/{name}.py", "print('a: 2')\n")
    (project / "snippets/ch01/a_folder.interpreter.out").mkdir()
    bytes_ = project / "snippets/ch01/b_bytes.interpreter.out"
    bytes_.write_bytes(b"a: \xff\n")
    done = command("bookpress", "accept")
    assert done.returncode == 1
    assert "snippets/ch01/a_folder.py: not recorded: " in done.stderr
    assert "snippets/ch01/b_bytes.py: not recorded: " in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == "recorded snippets/ch02/01_b.interpreter.out\n"
    assert bytes_.read_bytes() == b"a: \xff\n"


def test_a_fault_of_the_machine_is_one_line(
    project: Path, command: Command
) -> None:
    done = command("bookpress", "standalone", "pyproject.toml")
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


def test_a_python_without_torch_is_one_line(
    project: Path,
) -> None:
    code = (
        "import importlib.metadata as m, sys\n"
        "def version(name): raise m.PackageNotFoundError(name)\n"
        "m.version = version\n"
        "from bookpress.__main__ import main\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "run"],
        cwd=project,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: torch is not installed for ")
    assert done.stderr.count("\n") == 1


def test_list_is_json_on_demand(project: Path, command: Command) -> None:
    done = command("bookpress", "list", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout) == [
        {
            "snippet": "ch01/01_a",
            "devices": ["interpreter", "cuda"],
            "exit_code": 0,
            "fails": None,
            "recorded": ["interpreter"],
        },
        {
            "snippet": "ch02/01_b",
            "devices": ["interpreter", "cuda"],
            "exit_code": 3,
            "fails": "crash",
            "recorded": [],
        },
        {
            "snippet": "ch02/02_c",
            "devices": ["cuda"],
            "exit_code": 0,
            "fails": None,
            "recorded": ["h200"],
        },
    ]
    lines = command("bookpress", "list").stdout.splitlines()
    assert lines[1].split() == ["ch02/01_b", "nothing", "recorded", "[crash]"]


@pytest.mark.parametrize("name", ["run", "accept", "record"])
def test_an_unknown_snippet_brings_the_nearest(
    project: Path, command: Command, name: str
) -> None:
    done = command("bookpress", name, "ch01/01_aa")
    assert done.returncode == 2
    assert done.stderr == (
        "error: no snippet 'ch01/01_aa': did you mean 'ch01/01_a'?\n"
    )


def test_an_unknown_chapter_brings_the_chapters(
    project: Path, command: Command
) -> None:
    for name, words in (
        ("ch9", "did you mean 'ch02'?"),
        ("./snippets/grids/", "valid: ch01, ch02"),
    ):
        done = command("bookpress", "run", name)
        assert done.returncode == 2
        chapter = name.strip("./").removeprefix("snippets/")
        assert done.stderr == f"error: no chapter {chapter!r}: {words}\n"


def test_who_reads_the_list_may_stop(project: Path) -> None:
    both = f"{sys.executable} -m bookpress list --json | true"
    done = subprocess.run(
        ["bash", "-c", both], cwd=project, capture_output=True, text=True
    )
    assert done.stderr == ""


def test_the_commands_that_messages_name_are_in_the_makefile() -> None:
    root = Path(__file__).parents[2]
    made = subprocess.run(
        ["make", "-n", "run", "accept", "SNIPPETS=ch01/01_a"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    commands = made.stdout.splitlines()
    for name in ("run", "accept"):
        device = "--device interpreter " if name == "run" else ""
        command = f".venv/bin/python -m bookpress {name} {device}ch01/01_a"
        assert command in commands


@pytest.mark.parametrize(
    "name",
    [
        "ch01",
        "snippets/ch01/",
        "./snippets/ch01/",
        "ch01/01_a.py",
        "ch01/01_a",
    ],
)
def test_a_snippet_or_a_folder_is_named_in_each_form(
    project: Path, command: Command, name: str
) -> None:
    done = command("bookpress", "run", name, name)
    assert (done.returncode, done.stdout) == (0, "a: 1.00001\n")


def test_standalone_writes_the_files_where_it_is_told(
    project: Path, command: Command, tmp_path: Path
) -> None:
    done = command("bookpress", "standalone", str(tmp_path / "out"))
    assert done.returncode == 0
    assert done.stdout.split() == [
        "ch01/01_a.py",
        "ch02/01_b.py",
        "ch02/02_c.py",
        "ch01.py",
        "ch02.py",
    ]
    assert (tmp_path / "out" / "ch02.py").is_file()


def test_outside_of_a_project_it_says_so(
    root: Path, command: Command
) -> None:
    (root / "snippets").rmdir()
    done = command("bookpress", "run")
    assert done.returncode == 2
    assert "no project here or above" in done.stderr


def test_the_project_may_be_above(project: Path, command: Command) -> None:
    (project / "snippets").rename(project.parent / "snippets")
    (project / "src").rename(project.parent / "src")
    done = command("bookpress", "run", "ch01")
    assert (done.returncode, done.stdout) == (0, "a: 1.00001\n")


def test_ctrl_c_ends_all_at_once(
    interrupt: Callable[..., tuple[int, str, float]],
    processes: Callable[[], list[int]],
    root: Path,
) -> None:
    code, output, seconds = interrupt(
        "bookpress", "run", number=signal.SIGINT
    )
    assert code == 130
    assert output == "\nstopped\n"
    assert seconds < 2
    assert processes() == []
    assert not list(root.rglob(".writing-*"))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_press_that_is_killed_leaves_no_process(
    interrupt: Callable[..., tuple[int, str, float]],
    processes: Callable[[], list[int]],
    eventually: Callable[..., None],
    number: int,
) -> None:
    code, output, _ = interrupt("bookpress", "run", number=number)
    assert (code, output) == (-number, "")
    eventually(lambda: processes() == [], 5)
