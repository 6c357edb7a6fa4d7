"""The press on a whole project: every way in which a snippet can be wrong."""

import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from bookpress.errors import PressError
from bookpress.press import Press, Proof, read_values, value_of
from bookpress.snippet import Snippet, all_snippets
from bookpress.worker import Run, Server

pytestmark = pytest.mark.xdist_group("press")

Write = Callable[[str, str], Path]
Prove = Callable[..., dict[str, Proof]]


def settings(lines: str) -> str:
    return f"# /// script\n# [tool.bookpress]\n# {lines}\n# ///\n"


# What a snippet does, and what must be said of it. All are in one project
# and one run, with an output `a: 1` recorded.
WRONG = {
    "prints_something_else": (
        "print('a: 2')",
        "the output is not the one in snippets/ch01/{name}.interpreter.out:\n"
        "    --- recorded\n"
        "    +++ this run\n"
        "    @@ -1 +1 @@\n"
        "    -a: 1\n"
        "    +a: 2\n"
        "    If the new output is right: "
        "make accept SNIPPETS=ch01/{name}",
    ),
    "raises": (
        "print('a: 1')\nraise ValueError('three is too many')",
        "exit code 1 (raised), expected 0. It printed:\n"
        "    a: 1\n"
        "    Traceback (most recent call last):\n"
        '      File "snippets/ch01/{name}.py", line 2, in <module>\n'
        "        raise ValueError('three is too many')\n"
        "    ValueError: three is too many",
    ),
    "exits_by_sys": (
        "import sys\nprint('a: 1')\nsys.exit()",
        "it exited with code 0 before its last line; let it run to its end. "
        "It printed:\n    a: 1",
    ),
    "exits_by_os": (
        "import os\nprint('a: 1')\nos._exit(0)",
        "it exited with code 0 before its last line",
    ),
    "exits_with_3": (
        "import sys\nprint('a: 1')\nsys.exit(3)",
        "exit code 3 (exited early), expected 0",
    ),
    "crashes": (
        "import ctypes\nprint('a: 1')\nctypes.string_at(0)",
        "exit code 139 (died of signal 11), expected 0. It printed:\n"
        "    a: 1",
    ),
    "hangs": (
        f"{settings('timeout = 0.5')}"
        "import time\nprint('a: 1')\ntime.sleep(60)",
        "it did not end within 0.5 s and was ended; give it less to do, or "
        "a longer `timeout` in its metadata. It had printed:\n    a: 1",
    ),
    "prints_nothing": (
        "x = 1",
        "it printed nothing; a snippet shows something",
    ),
    "prints_blanks": (
        "print()",
        "it printed nothing; a snippet shows something",
    ),
    "prints_10_mb": (
        "for _ in range(1000):\n    print('x' * 10_000)",
        "it printed more than 200,000 bytes and was ended; it began:\n"
        "    xxx",
    ),
    "prints_bytes": (
        "import os\nprint('a: 1')\nos.write(1, bytes([200, 10]))",
        "it printed bytes that are not UTF-8 (0xc8 in line 2)",
    ),
    "leaves_a_child": (
        "import subprocess, time\nprint('a: 1')\n"
        "subprocess.Popen(['sleep', '60'])\ntime.sleep(0.2)",
        "it left a child process behind: sleep 60",
    ),
    "leaves_a_daemon": (
        "import subprocess, time\nprint('a: 1')\n"
        "subprocess.run('setsid sleep 60 &', shell=True)\ntime.sleep(0.2)",
        "it left a child process behind: sleep 60",
    ),
    "writes": (
        "print('a: 1')\n"
        "try:\n    open(__file__, 'a')\nexcept OSError:\n    pass",
        "it tried to write into the project: snippets/ch01/{name}.py",
    ),
    "does_not_crash": (
        f"{settings('exit-code = 139')}print('a: 1')",
        "exit code 0 (finished), expected 139. It printed:\n    a: 1",
    ),
    "crashes_otherwise": (
        f"{settings('exit-code = 139')}print('a: 1')\nimport os\nos.abort()",
        "exit code 134 (died of signal 6), expected 139",
    ),
    "is_no_python": (
        "print('a: 1'",
        ":1: '(' was never closed",
    ),
    "has_an_unknown_key": (
        f"{settings('exit-cod = 139')}print('a: 1')",
        "unknown key 'exit-cod' in [tool.bookpress]: did you mean ",
    ),
    "has_a_bad_value": (
        f"{settings('timeout = 0')}print('a: 1')",
        "timeout = 0 in [tool.bookpress]: it takes more than 0 and ",
    ),
    "has_bad_toml": (
        f"{settings('timeout = = 0')}print('a: 1')",
        "the PEP 723 block is no TOML: Invalid value (at line 2, column 11)",
    ),
}
RIGHT = {
    "prints": "print('a: 1')",
    "prints_on_stderr": "import sys\nprint('a: 1', file=sys.stderr)",
    "ends_as_expected": (
        f"{settings('exit-code = 3')}print('a: 1')\nraise SystemExit(3)"
    ),
    "dies_as_expected": (
        f"{settings('exit-code = 139')}print('a: 1')\n"
        "import ctypes\nctypes.string_at(0)"
    ),
}
UNRECORDED = "is_not_recorded"


@pytest.fixture(scope="module")
def wrong_project(
    tmp_path_factory: pytest.TempPathFactory,
    make_project: Callable[[Path, dict[str, str]], Path],
) -> Path:
    sources = {name: source for name, (source, _) in WRONG.items()} | RIGHT
    files = {}
    for name, source in sources.items():
        files[f"snippets/ch01/{name}.py"] = f"{source}\n"
        files[f"snippets/ch01/{name}.interpreter.out"] = "a: 1\n"
    files[f"snippets/ch01/{UNRECORDED}.py"] = "print('a: 1')\n"
    return make_project(tmp_path_factory.mktemp("wrong"), files)


@pytest.fixture(scope="module")
def reported() -> list[Proof]:
    return []


@pytest.fixture(scope="module")
def proofs(
    wrong_project: Path, mark: str, reported: list[Proof]
) -> dict[str, Proof]:
    press = Press(wrong_project, report=reported.append)
    return press.prove(all_snippets(wrong_project))


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_with_file_and_reason(
    proofs: dict[str, Proof], name: str
) -> None:
    proof = proofs[f"ch01/{name}"]
    (failure,) = proof.failures
    _, expected = WRONG[name]
    assert failure.startswith(f"snippets/ch01/{name}.py:")
    assert expected.format(name=name) in failure


@pytest.mark.parametrize("name", RIGHT)
def test_the_others_are_still_proven(
    proofs: dict[str, Proof], name: str
) -> None:
    proof = proofs[f"ch01/{name}"]
    assert (proof.failures, proof.output) == ((), "a: 1\n")


def test_an_output_that_is_not_recorded_fails_with_the_way_out(
    proofs: dict[str, Proof],
) -> None:
    assert proofs[f"ch01/{UNRECORDED}"].failures == (
        f"snippets/ch01/{UNRECORDED}.py: no output is recorded in "
        f"snippets/ch01/{UNRECORDED}.interpreter.out.\n"
        f"    Look at it: make run SNIPPETS=ch01/{UNRECORDED}\n"
        f"    If it is right: make accept SNIPPETS=ch01/{UNRECORDED}",
    )


def test_all_failures_are_there_and_all_proofs_are_reported(
    proofs: dict[str, Proof], reported: list[Proof]
) -> None:
    failed = {name for name, proof in proofs.items() if proof.failures}
    assert failed == {f"ch01/{name}" for name in (*WRONG, UNRECORDED)}
    names = sorted(proof.name for proof in proofs.values())
    assert sorted(proof.name for proof in reported) == names


def test_nothing_is_left_behind_and_nothing_is_half_written(
    wrong_project: Path,
    proofs: dict[str, Proof],
    processes: Callable[[], list[int]],
) -> None:
    assert processes() == []
    for name in (*WRONG, *RIGHT):
        path = wrong_project / f"snippets/ch01/{name}.interpreter.out"
        assert path.read_text() == "a: 1\n"
    kept = wrong_project.rglob("*")
    strange = {
        path.relative_to(wrong_project).as_posix()
        for path in kept
        if path.is_file() and path.suffix not in (".py", ".out", ".toml")
    }
    assert all(
        name.startswith(".bookpress/runs/") and name.endswith(".json")
        for name in strange
    )


def test_only_a_run_that_went_well_is_kept(
    wrong_project: Path, proofs: dict[str, Proof]
) -> None:
    again = Press(wrong_project).prove(all_snippets(wrong_project))
    kept = {name for name, proof in again.items() if proof.cached}
    well = {*RIGHT, UNRECORDED, "prints_something_else"}
    assert kept == {f"ch01/{name}" for name in well}
    assert {n: p.failures for n, p in again.items() if p.cached} == {
        name: proofs[name].failures for name in kept
    }


# ----------------------------------------------------------------- the cache


@pytest.fixture
def project(
    root: Path, make_project: Callable[[Path, dict[str, str]], Path]
) -> Path:
    return make_project(
        root,
        {
            "src/kernels/__init__.py": "",
            "src/kernels/gelu.py": "from kernels.launch import go\nG = go\n",
            "src/kernels/square.py": "def square(): ...\n",
            "src/kernels/launch.py": "def go(): ...\n",
            "src/kernels/unused.py": "",
            "snippets/ch01/01_gelu.py": (
                "from kernels.gelu import G\nprint('a: 1')\n"
            ),
            "snippets/ch01/02_square.py": (
                "from kernels.square import square\nprint('a: 1')\n"
            ),
            "snippets/ch01/03_both.py": (
                "from kernels.gelu import G\n"
                "from kernels.square import square\nprint('a: 1')\n"
            ),
            "snippets/ch01/04_none.py": "print('a: 1')\n",
            **{
                f"snippets/ch01/{name}.interpreter.out": "a: 1\n"
                for name in ("01_gelu", "02_square", "03_both", "04_none")
            },
        },
    )


def ran(proofs: dict[str, Proof]) -> set[str]:
    assert not any(proof.failures for proof in proofs.values())
    return {
        name.removeprefix("ch01/")
        for name, proof in proofs.items()
        if not proof.cached
    }


EVERY = {"01_gelu", "02_square", "03_both", "04_none"}


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("src/kernels/gelu.py", {"01_gelu", "03_both"}),
        ("src/kernels/launch.py", {"01_gelu", "03_both"}),
        ("src/kernels/square.py", {"02_square", "03_both"}),
        ("src/kernels/__init__.py", EVERY - {"04_none"}),
        ("src/kernels/unused.py", set()),
        ("snippets/ch01/04_none.py", {"04_none"}),
        ("docs/page.md", set()),
    ],
)
def test_a_changed_file_runs_just_what_imports_it(
    project: Path, prove: Prove, file: str, expected: set[str]
) -> None:
    assert ran(prove()) == EVERY
    assert ran(prove()) == set()
    with (project / file).open("a") as stream:
        stream.write("\n# changed\n")
    assert ran(prove()) == expected


def test_an_environment_variable_that_matters_runs_all(
    project: Path, prove: Prove, monkeypatch: pytest.MonkeyPatch
) -> None:
    prove()
    monkeypatch.setenv("TRITON_X", "1")
    assert ran(prove()) == EVERY


def test_without_the_cache_all_run_and_are_kept(
    project: Path, prove: Prove
) -> None:
    prove()
    assert ran(prove(use_cache=False)) == EVERY
    assert ran(prove()) == set()


def test_a_run_from_the_cache_is_compared_again(
    project: Path, prove: Prove, write: Write
) -> None:
    prove()
    write("snippets/ch01/04_none.interpreter.out", "a: 2\n")
    proof = prove()["ch01/04_none"]
    assert proof.cached
    assert "-a: 2\n    +a: 1" in proof.failures[0]


def test_a_broken_file_of_the_cache_is_a_miss(
    project: Path, prove: Prove
) -> None:
    prove()
    paths = list(project.glob(".bookpress/runs/*"))
    texts = ["", "[]", "null", '{"ending": "finished"}']
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    assert ran(prove()) == EVERY
    assert ran(prove()) == set()


def test_a_file_that_changes_during_its_run_is_not_proven(
    project: Path, prove: Prove, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = Server.result

    def result_and_edit(server: Server, connection: socket.socket) -> Run:
        write("src/kernels/square.py", "def square(): return 2\n")
        return result(server, connection)

    monkeypatch.setattr(Server, "result", result_and_edit)
    proofs = prove()
    failed = {name for name, proof in proofs.items() if proof.failures}
    assert failed == {"ch01/02_square", "ch01/03_both"}
    assert proofs["ch01/02_square"].failures == (
        "snippets/ch01/02_square.py: it, or a file that it imports, changed "
        "while it was run; run it again",
    )
    monkeypatch.undo()
    assert ran(prove()) == {"02_square", "03_both"}
    write("src/kernels/square.py", "def square(): ...\n")
    assert ran(prove()) == {"02_square", "03_both"}


def test_a_file_that_vanishes_during_its_run_is_not_proven(
    project: Path, prove: Prove, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = Server.result

    def result_and_remove(server: Server, connection: socket.socket) -> Run:
        (project / "snippets/ch01/04_none.py").unlink(missing_ok=True)
        return result(server, connection)

    monkeypatch.setattr(Server, "result", result_and_remove)
    proofs = prove()
    failed = {name for name, proof in proofs.items() if proof.failures}
    assert failed == {"ch01/04_none"}


def test_without_a_place_for_the_cache_all_are_proven(
    project: Path, prove: Prove, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / ".bookpress").touch()
    assert ran(prove()) == EVERY
    (warning,) = capsys.readouterr().err.splitlines()
    assert warning.startswith("warning: no run is kept: ")
    assert ".bookpress" in warning


def test_a_record_that_is_not_utf8_is_a_failure(
    project: Path, prove: Prove
) -> None:
    record = project / "snippets/ch01/04_none.interpreter.out"
    record.write_bytes(b"a: \xff\n")
    proofs = prove()
    (failure,) = proofs["ch01/04_none"].failures
    assert failure.startswith(
        "snippets/ch01/04_none.interpreter.out: 'utf-8' codec can't decode"
    )
    assert proofs["ch01/01_gelu"].failures == ()


def test_a_cache_file_that_was_cut_off_is_a_miss(
    project: Path, prove: Prove
) -> None:
    prove()
    for path in project.glob(".bookpress/runs/*"):
        path.write_bytes(path.read_bytes()[:-20])
    assert ran(prove()) == EVERY


def test_two_presses_side_by_side_keep_one_valid_cache(
    project: Path, prove: Prove
) -> None:
    command = [sys.executable, "-m", "bookpress", "run", "--no-cache"]
    both = [
        subprocess.Popen(command, cwd=project, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    for press in both:
        _, errors = press.communicate(timeout=120)
        assert press.returncode == 0, errors.decode()
    files = list(project.glob(".bookpress/runs/*"))
    assert len(files) == len(EVERY)
    for path in files:
        assert json.loads(path.read_text())["output"] == "a: 1\n"
    assert ran(prove()) == set()


def test_addresses_and_the_projects_folder_are_not_in_an_output(
    project: Path, prove: Prove, write: Write
) -> None:
    write(
        "snippets/ch01/04_none.py",
        "print('at:', object())\nprint('in:', __file__)\n",
    )
    output = prove()["ch01/04_none"].output
    assert output == (
        "at: <object object at 0x…>\nin: snippets/ch01/04_none.py\n"
    )


def test_a_file_that_ends_its_supervisor_fails_by_name(
    project: Path,
    prove: Prove,
    write: Write,
    mark: str,
    processes: Callable[[], list[int]],
    eventually: Callable[..., None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Nobody is left to remove the folder of the run.
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    write(
        "snippets/ch01/04_none.py",
        "import os, time\nos.kill(os.getppid(), 9)\ntime.sleep(60)\n",
    )
    proofs = prove()
    failed = {name for name, proof in proofs.items() if proof.failures}
    assert failed == {"ch01/04_none"}
    assert proofs["ch01/04_none"].failures[0] == (
        "snippets/ch01/04_none.py: it lost its watching process, killed by "
        "it or by the system"
    )
    eventually(lambda: processes() == [], 5)


def test_a_server_that_dies_is_an_error(
    project: Path,
    prove: Prove,
    write: Write,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Nobody is left to remove the folder of the run.
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    parent = "int(open(f'/proc/{os.getppid()}/stat').read().split()[3])"
    write(
        "snippets/ch01/04_none.py",
        f"import os\nos.kill({parent}, 9)\nos.kill(os.getppid(), 9)\n",
    )
    with pytest.raises(ChildProcessError, match="the snippets has ended"):
        prove()


# ---------------------------------------------------------------- the values


def test_values_are_read_from_labelled_lines() -> None:
    output = "a: 1\n  b c : 2.5e-7 \ntime: 10:30\nno value\na: 3\n"
    assert read_values(output) == {
        "a": "1",
        "b c": "2.5e-7",
        "time": "10:30",
    }


def test_a_label_that_is_not_printed_brings_the_nearest() -> None:
    values = {"ratio": "2", "max abs diff": "3"}
    assert value_of(values, "ratio", "here") == "2"
    with pytest.raises(PressError) as caught:
        value_of(values, "max abs dif", "snippets/a.py (interpreter)")
    assert str(caught.value) == (
        "snippets/a.py (interpreter) prints no label 'max abs dif': "
        "did you mean 'max abs diff'?"
    )


def test_proofs_have_the_names_and_order_of_the_snippets(
    project: Path,
) -> None:
    names = ["ch01/03_both", "ch01/01_gelu", "ch01/04_none"]
    snippets: Iterable[Snippet] = (Snippet(n, project) for n in names)
    assert list(Press(project).prove(snippets)) == names
