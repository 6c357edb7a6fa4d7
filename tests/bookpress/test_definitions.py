"""A file as definitions that can be written elsewhere."""

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from bookpress.definitions import Module, names_in
from bookpress.errors import PressError

SOURCE = '''
    """What this module is."""

    # /// script
    # dependencies = ["torch"]
    # ///

    import os
    import os.path as p
    from math import (
        pi,
        tau as two_pi,
    )
    from typing import TYPE_CHECKING

    from kernels.launch import launch

    if TYPE_CHECKING:
        from torch import Tensor

    os.environ["X"] = "1"

    # Why it is two.
    # And no more.
    TWO: int = 2
    A, (B, *C) = 1, (2, 3)
    D = E = 0
    C[0] = 1


    @decorated(1)
    @twice
    def gelu(x: "Name") -> int:  # pyright: ignore[reportX]
        """Doc."""
        return TWO  # noqa: RET


    class Op:
        size = 1


    async def wait() -> None: ...
'''


@pytest.fixture
def module(root: Path, write: Callable[[str, str], Path]) -> Module:
    write("src/kernels/__init__.py", "")
    write("src/kernels/launch.py", "def launch(): ...\n")
    return Module(write("src/kernels/gelu.py", SOURCE), root)


def test_every_name_that_is_defined_is_found(module: Module) -> None:
    names = {"TWO", "A", "B", "C", "D", "E", "gelu", "Op", "wait"}
    assert module.definitions.keys() == names


def test_what_defines_nothing_is_a_statement(module: Module) -> None:
    texts = [module.text(statement) for statement in module.statements]
    assert texts == ['os.environ["X"] = "1"', "C[0] = 1"]


def test_imports_are_ours_or_from_outside(module: Module) -> None:
    assert module.inside == {"launch": "kernels.launch"}
    assert module.outside == {
        "os": {("os", "")},
        "p": {("os.path", "")},
        "pi": {("math", "pi")},
        "two_pi": {("math", "tau")},
        "TYPE_CHECKING": {("typing", "TYPE_CHECKING")},
    }


def test_a_package_and_a_module_of_it_are_both_imported(
    root: Path, write: Callable[[str, str], Path]
) -> None:
    write("src/kernels/a.py", "import xml.dom\nimport xml\n")
    module = Module(root / "src/kernels/a.py", root)
    assert module.outside == {"xml": {("xml", ""), ("xml.dom", "")}}


def test_an_import_of_the_future_is_refused_with_its_place(
    root: Path, write: Callable[[str, str], Path]
) -> None:
    path = write(
        "src/kernels/a.py", "import os\nfrom __future__ import division\n"
    )
    with pytest.raises(PressError, match=r"^src/kernels/a.py:2: .*leave it "):
        Module(path, root)


def test_a_text_has_decorators_and_comments_and_no_linter_remarks(
    module: Module,
) -> None:
    assert module.text(module.definitions["TWO"]) == (
        "# Why it is two.\n# And no more.\nTWO: int = 2"
    )
    assert module.text(module.definitions["gelu"]) == (
        "@decorated(1)\n@twice\n"
        'def gelu(x: "Name") -> int:\n'
        '    """Doc."""\n'
        "    return TWO"
    )


def test_a_body_is_without_docstring_metadata_and_imports(
    module: Module,
) -> None:
    body = module.body()
    assert body.startswith("if TYPE_CHECKING:\n")
    assert "What this" not in body
    assert "script" not in body
    assert not re.search(r"^(import|from)", body, re.MULTILINE)
    assert "    return TWO" in body


@pytest.mark.parametrize(
    "form",
    [
        "import kernels.launch",
        "import kernels",
        "import kernels.launch as l",
        "from kernels import launch",
        "from kernels.launch import launch as go",
    ],
)
def test_an_import_of_ours_has_one_form(
    root: Path, module: Module, write: Callable[[str, str], Path], form: str
) -> None:
    path = write("src/kernels/other.py", f"import os\n{form}\n")
    with pytest.raises(PressError) as caught:
        Module(path, root)
    assert str(caught.value).startswith(
        "src/kernels/other.py:2: write this import as "
        "`from package.module import name`, without alias"
    )


def test_names_are_found_in_annotations_that_are_strings(
    module: Module,
) -> None:
    found = names_in(module.definitions["gelu"])
    assert {"Name", "TWO", "decorated", "twice", "int"} <= found
    assert names_in(ast.parse("f('two words')")) == {"f"}


def test_a_file_that_is_not_utf_8_is_named(root: Path) -> None:
    (root / "src/a.py").write_bytes(b"# caf\xe9")
    with pytest.raises(PressError, match=r"^src/a\.py: "):
        Module(root / "src/a.py", root)
