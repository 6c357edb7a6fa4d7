"""Self-contained programs: whole, run alone, and refused where they can't."""

import ast
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bookpress.errors import PressError
from bookpress.press import Press
from bookpress.snippet import Snippet
from bookpress.standalone import (
    UnwritableError,
    standalone_jobs,
    write_all,
)

Write = Callable[[str, str], Path]

LIBRARY = {
    "src/kernels/__init__.py": """
        from kernels.device import DEVICE

        _HOMES = {"gelu": "kernels.gelu"}
        """,
    "src/kernels/device.py": """
        '''Where kernels run.'''

        import os

        os.environ.setdefault("SCRATCH_DEVICE", "interpreter")
        DEVICE = os.environ["SCRATCH_DEVICE"]
        """,
    "src/kernels/launch.py": """
        '''What all share.'''

        import math as m

        from kernels.device import DEVICE

        # Why it is two.
        TWO: int = 2
        ONE, ZERO = 1, 0
        UNUSED = 3


        def launch(x: float) -> float:
            return TWO * ONE * m.floor(x) + ZERO


        def unused() -> str:
            return DEVICE
        """,
    "src/kernels/gelu.py": """
        '''One op.'''

        from typing import TYPE_CHECKING

        from kernels.launch import launch

        if TYPE_CHECKING:
            from decimal import Decimal


        def twice(function):
            return lambda x: function(function(x))


        class Op:
            scale = 10


        @twice
        def gelu(x: "float") -> "float":
            return launch(x) + Op.scale
        """,
    "snippets/ch01/01_gelu.py": """
        '''Twice the floor, and ten.

        More words.
        '''

        # /// script
        # [tool.bookpress]
        # rtol = 1e-3
        # ///

        import math

        from kernels.device import DEVICE
        from kernels.gelu import gelu

        x = 1.5
        print("gelu:", gelu(x), math.pi, DEVICE)
        """,
    "snippets/ch01/01_gelu.interpreter.out": """
        gelu: 34 3.141592653589793 interpreter
        """,
    "snippets/ch01/02_crash.py": """
        '''It "ends" the process.'''

        # /// script
        # [tool.bookpress]
        # exit-code = 7
        # not-in-chapter-file = '''It "ends" the process; that's {x}: a \
reason may be "longer" than a line of code can be.'''
        # ///

        import os

        print("code:", 7, flush=True)
        os._exit(7)
        """,
    "snippets/ch01/02_crash.interpreter.out": "code: 7\n",
    "snippets/ch01/03_gpu.py": """
        '''On a GPU.'''

        # /// script
        # [tool.bookpress]
        # devices = ["cuda"]
        # ///

        print("x: 1")
        """,
    "snippets/ch01/04_again.py": """
        '''The same op, once more.'''

        from kernels.gelu import Op, gelu
        from kernels.launch import launch

        x = 2
        print("all:", gelu(x), launch(x), Op.scale)
        """,
    "snippets/ch01/04_again.interpreter.out": "all: 38 4 10\n",
}


@pytest.fixture
def project(
    root: Path, make_project: Callable[[Path, dict[str, str]], Path]
) -> Path:
    return make_project(root, LIBRARY)


@pytest.fixture
def written(project: Path, tmp_path: Path) -> Callable[[], Path]:
    def written() -> Path:
        write_all(project, tmp_path / "alone")
        return tmp_path / "alone"

    return written


def run_alone(path: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a copy in an empty folder, in Python's isolated mode."""
    folder.mkdir(exist_ok=True)
    copy = folder / "program.py"
    copy.write_bytes(path.read_bytes())
    return subprocess.run(
        [sys.executable, "-I", copy.name],
        cwd=folder,
        capture_output=True,
        text=True,
    )


def test_a_file_for_each_snippet_and_chapter_is_written(
    written: Callable[[], Path],
) -> None:
    folder = written()
    paths = {p.relative_to(folder).as_posix() for p in folder.rglob("*.py")}
    assert paths == {
        "ch01.py",
        "ch01/01_gelu.py",
        "ch01/02_crash.py",
        "ch01/03_gpu.py",
        "ch01/04_again.py",
    }


def test_a_snippet_of_no_chapter_has_a_file_of_its_own_alone(
    written: Callable[[], Path], write: Write
) -> None:
    write("snippets/reference/01_all.py", "'All.'\nprint('all: 1')\n")
    folder = written()
    assert (folder / "reference/01_all.py").is_file()
    assert not (folder / "reference.py").exists()


def test_every_file_imports_nothing_of_ours(
    written: Callable[[], Path],
) -> None:
    for path in written().rglob("*.py"):
        modules = {
            alias.name if isinstance(node, ast.Import) else node.module
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        assert modules <= {"math", "os"}, path


def test_every_file_names_its_dependencies(
    written: Callable[[], Path],
) -> None:
    for path in written().rglob("*.py"):
        assert (
            '# /// script\n# requires-python = ">=3.11"\n'
            '# dependencies = ["torch", "triton"]\n# ///\n'
        ) in path.read_text()


@pytest.mark.parametrize(
    ("name", "code", "output"),
    [
        ("01_gelu", 0, "gelu: 34 3.141592653589793 interpreter\n"),
        ("02_crash", 7, "code: 7\n"),
        ("04_again", 0, "all: 38 4 10\n"),
    ],
)
def test_a_snippets_file_runs_alone(
    written: Callable[[], Path],
    tmp_path: Path,
    name: str,
    code: int,
    output: str,
) -> None:
    done = run_alone(written() / f"ch01/{name}.py", tmp_path / "empty")
    assert (done.returncode, done.stdout, done.stderr) == (code, output, "")


def test_a_chapters_file_runs_alone_and_says_what_it_leaves_out(
    written: Callable[[], Path], tmp_path: Path
) -> None:
    done = run_alone(written() / "ch01.py", tmp_path / "empty")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "--- 01_gelu: Twice the floor, and ten. ---\n"
        "gelu: 34 3.141592653589793 interpreter\n\n"
        '--- 02_crash: It "ends" the process. ---\n'
        'left out: It "ends" the process; that\'s {x}: a reason may be '
        '"longer" than a line of code can be.\n\n'
        "--- 03_gpu: On a GPU. ---\n"
        "left out: it needs a GPU\n\n"
        "--- 04_again: The same op, once more. ---\n"
        "all: 38 4 10\n\n"
    )


def test_each_definition_stands_once_and_no_unused_one(
    written: Callable[[], Path],
) -> None:
    text = (written() / "ch01.py").read_text()
    assert text.count("def gelu(") == 1
    assert text.count("def launch(") == 1
    assert text.count("class Op:") == 1
    assert "# Why it is two.\nTWO: int = 2\n" in text
    assert text.count("ONE, ZERO = 1, 0\n") == 1
    assert "@twice\ndef gelu(" in text
    assert max(map(len, text.splitlines())) <= 78
    assert "UNUSED" not in text
    assert "unused" not in text
    assert "bookpress]" not in text
    assert "Decimal" not in text


def test_the_press_proves_them(
    project: Path, written: Callable[[], Path]
) -> None:
    folder = project / ".bookpress" / "standalone"
    write_all(project, folder)
    proofs = Press(project).run(standalone_jobs(project, folder))
    assert {proof.name: proof.failures for proof in proofs} == {
        "standalone/ch01/01_gelu.py": (),
        "standalone/ch01/02_crash.py": (),
        "standalone/ch01/04_again.py": (),
        "standalone/ch01.py": (),
    }


def test_a_program_that_prints_something_else_fails(
    project: Path, write: Write
) -> None:
    """All that differs here is where the file lies."""
    write(
        "snippets/ch01/04_again.py",
        "'''Title.'''\n\nprint('name:', __file__.split('/')[-3])\n",
    )
    write("snippets/ch01/04_again.interpreter.out", "name: snippets\n")
    folder = project / ".bookpress" / "standalone"
    write_all(project, folder)
    proofs = Press(project).run(standalone_jobs(project, folder))
    failures = {proof.name: proof.failures for proof in proofs}
    (own,) = failures["standalone/ch01/04_again.py"]
    assert "written from it: snippets/ch01/04_again.py: the output" in own
    assert "+name: standalone" in own
    (chapter,) = failures["standalone/ch01.py"]
    assert "the part 04_again prints something else" in chapter
    assert "+name: .bookpress" in chapter
    assert failures["standalone/ch01/01_gelu.py"] == ()


def test_a_library_module_that_a_program_cannot_have_fails(
    project: Path, write: Write
) -> None:
    """An import inside a function is not written out."""
    write(
        "snippets/ch01/04_again.py",
        """
        '''Title.'''

        def run():
            from kernels.gelu import gelu
            print("all:", gelu(2))

        run()
        """,
    )
    folder = project / ".bookpress" / "standalone"
    write_all(project, folder)
    proofs = Press(project).run(standalone_jobs(project, folder))
    failures = {proof.name: proof.failures for proof in proofs}
    (own,) = failures["standalone/ch01/04_again.py"]
    assert "ModuleNotFoundError" in own
    assert "kernels" in own


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "'''T.'''\nfrom kernels import gelu as g\n",
            "snippets/ch01/05_bad.py:2: write this import as "
            "`from package.module import name`, without alias",
        ),
        (
            "'''T.'''\nimport kernels.launch\n",
            "snippets/ch01/05_bad.py:2: write this import as",
        ),
        (
            # a lazy export, and a name that has its home elsewhere
            "'''T.'''\nfrom kernels import Op\n",
            "snippets/ch01/05_bad.py: 'Op' is not defined in "
            "src/kernels/__init__.py; import it from its home",
        ),
        (
            "'''T.'''\nfrom kernels import DEVICE\n",
            "snippets/ch01/05_bad.py: 'DEVICE' is not defined in "
            "src/kernels/__init__.py; import it from its home",
        ),
        (
            "'''T.'''\nfrom kernels.launch import lunch\n",
            "'lunch' is not defined in src/kernels/launch.py",
        ),
        (
            "'''T.'''\nfrom kernels.launch import launch\nTWO = 3\n",
            "snippets/ch01/05_bad.py: 'TWO' has the name of something in "
            "src/kernels/launch.py; call it otherwise",
        ),
        (
            "'''T.'''\nfrom kernels.launch import launch\nx, TWO = 1, 3\n",
            "snippets/ch01/05_bad.py: 'TWO' has the name of something in "
            "src/kernels/launch.py; call it otherwise",
        ),
        (
            "'''T.'''\nfrom kernels.other import launch\n"
            "from kernels.gelu import gelu\n",
            "has the name of something in src/kernels/",
        ),
        (
            "'''T.'''\nimport cmath as m\n"
            "from kernels.launch import launch\n",
            "'m' is imported from cmath and from math, here or elsewhere",
        ),
        (
            "'''T.'''\nfrom __future__ import annotations\n",
            "snippets/ch01/05_bad.py:2: `from __future__` must stand first",
        ),
        (
            "print('x: 1')\n",
            "snippets/ch01/05_bad.py: it has no docstring; its first line is "
            "the example's title",
        ),
    ],
)
def test_what_cannot_be_written_out_is_an_error_with_its_way_out(
    project: Path,
    write: Write,
    written: Callable[[], Path],
    source: str,
    message: str,
) -> None:
    write("src/kernels/other.py", "def launch(): ...\n")
    write("snippets/ch01/05_bad.py", source)
    with pytest.raises(PressError) as caught:
        written()
    assert message in str(caught.value)


def test_every_program_that_cannot_be_written_is_told_with_its_reason(
    project: Path, write: Write, written: Callable[[], Path], tmp_path: Path
) -> None:
    write("snippets/ch01/05_bad.py", "'''T.'''\nimport kernels.launch\n")
    write("snippets/ch02/01_bad.py", "print('x: 1')\n")
    with pytest.raises(UnwritableError) as caught:
        written()
    reasons = caught.value.reasons
    assert list(reasons) == ["ch01/05_bad", "ch02/01_bad", "ch01", "ch02"]
    assert reasons["ch01"] == reasons["ch01/05_bad"]
    assert str(caught.value).count("\n") == 1
    assert (tmp_path / "alone/ch01/04_again.py").is_file()


def test_a_package_and_a_module_of_it_go_together(
    project: Path, write: Write, written: Callable[[], Path], tmp_path: Path
) -> None:
    write(
        "snippets/ch01/05_xml.py",
        """
        '''T.'''

        import xml
        import xml.sax.saxutils

        from kernels.xml import name

        print("x:", xml.sax.saxutils.escape("<"), name())
        """,
    )
    write(
        "src/kernels/xml.py",
        """
        import os
        import xml

        os.environ["SCRATCH_XML"] = xml.__name__


        def name():
            return os.environ["SCRATCH_XML"]
        """,
    )
    folder = written()
    for path in ("ch01.py", "ch01/05_xml.py"):
        done = run_alone(folder / path, tmp_path / "empty")
        assert done.stdout.endswith("x: &lt; xml\n" + "\n" * (path[4] == "."))
        assert (folder / path).read_text().count("import xml\n") == 1


def test_nothing_is_written_for_a_project_without_snippets(
    root: Path, tmp_path: Path
) -> None:
    assert write_all(root, tmp_path / "alone") == []


def test_a_program_has_the_snippets_own_words(
    project: Path, written: Callable[[], Path]
) -> None:
    text = (written() / "ch01/01_gelu.py").read_text()
    assert text.startswith('"""Twice the floor, and ten.\n\nWritten by the ')
    assert text.endswith('print("gelu:", gelu(x), math.pi, DEVICE)\n')
    assert "snippets/ch01/01_gelu.py" in text
    source = Snippet("ch01/01_gelu", project).source
    assert "More words." in source
