"""Which files of ours a file imports, from its source alone."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bookpress.errors import PressError
from bookpress.press import Press
from bookpress.sources import first_party_files, module_file

PACKAGE = {
    "src/kernels/__init__.py": "from kernels.device import DEVICE\n",
    "src/kernels/device.py": "DEVICE = 'cpu'\n",
    "src/kernels/launch.py": "import torch\n",
    "src/kernels/ops/__init__.py": "",
    "src/kernels/ops/gelu.py": "from kernels.launch import launch\n",
    "src/kernels/ops/square.py": "from kernels.launch import launch\n",
}
ALWAYS = {"snippets/a.py", "src/kernels/__init__.py", "src/kernels/device.py"}


@pytest.fixture
def imported(
    root: Path, make_project: Callable[[Path, dict[str, str]], Path]
) -> Callable[[str], set[str]]:
    def files_of(source: str) -> set[str]:
        make_project(root, PACKAGE | {"snippets/a.py": source})
        found = first_party_files(root / "snippets/a.py", root)
        return {path.relative_to(root).as_posix() for path in found}

    return files_of


GELU = {
    "src/kernels/ops/__init__.py",
    "src/kernels/ops/gelu.py",
    "src/kernels/launch.py",
}


@pytest.mark.parametrize(
    ("source", "more"),
    [
        ("from kernels.ops.gelu import gelu", GELU),
        ("from kernels.ops import gelu", GELU),
        ("import kernels.ops.gelu", GELU),
        ("import kernels.ops.gelu as g, torch", GELU),
        ("def f():\n    from kernels.ops.gelu import gelu", GELU),
        ("if True:\n    from kernels.ops.gelu import gelu", GELU),
        ("from kernels.device import DEVICE", set()),
        ("import kernels", set()),
    ],
)
def test_imports_are_followed_in_each_form(
    imported: Callable[[str], set[str]], source: str, more: set[str]
) -> None:
    assert imported(source) == ALWAYS | more


def test_other_packages_are_not_followed(
    imported: Callable[[str], set[str]],
) -> None:
    source = "import torch, numpy.linalg\nfrom os import path"
    assert imported(source) == {"snippets/a.py"}


def test_an_import_for_types_is_no_import(
    imported: Callable[[str], set[str]],
) -> None:
    source = (
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n"
        "    from kernels.ops.gelu import gelu\n"
    )
    assert imported(source) == {"snippets/a.py"}


def test_a_lazy_export_may_come_from_any_file_of_its_package(
    imported: Callable[[str], set[str]],
) -> None:
    assert imported("from kernels import gelu") == {"snippets/a.py", *PACKAGE}


def test_a_circle_of_imports_ends(
    imported: Callable[[str], set[str]], write: Callable[[str, str], Path]
) -> None:
    source = "from kernels.ops.gelu import gelu"
    imported(source)
    write("src/kernels/device.py", "import kernels.ops.gelu\n")
    assert "src/kernels/ops/gelu.py" in imported(source)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = 1\ny = = 2", r"snippets/a\.py:2: invalid syntax"),
        ("from . import b", r"snippets/a\.py:1: a relative import; write"),
        ("x = 1\nfrom .b import c", r"snippets/a\.py:2: a relative import"),
    ],
)
def test_what_cannot_be_followed_names_its_place(
    imported: Callable[[str], set[str]], source: str, message: str
) -> None:
    with pytest.raises(PressError, match=message):
        imported(source)


def test_a_file_that_is_not_utf8_names_itself(root: Path) -> None:
    path = root / "snippets" / "a.py"
    path.write_bytes(b"x = '\xff'\n")
    with pytest.raises(PressError, match=r"snippets/a\.py: 'utf-8' codec"):
        first_party_files(path, root)


def test_a_module_is_a_file_or_a_package(
    root: Path, make_project: Callable[[Path, dict[str, str]], Path]
) -> None:
    make_project(root, PACKAGE)
    package = root / "src" / "kernels"
    assert module_file("kernels", root) == package / "__init__.py"
    assert module_file("kernels.launch", root) == package / "launch.py"
    assert module_file("kernels.nothing", root) is None
    assert module_file("torch", root) is None


def test_a_later_press_sees_what_is_imported_since(
    root: Path, write: Callable[[str, str], Path]
) -> None:
    path = write("snippets/a.py", "x = 1\n")
    used = write("src/kernels/used.py", "y = 1\n")
    assert first_party_files(path, root) == [path]
    write("snippets/a.py", "from kernels.used import y\n")
    Press(root)
    assert first_party_files(path, root) == [path, used]
