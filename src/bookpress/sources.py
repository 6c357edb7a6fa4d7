"""Which first-party files a Python file imports, read from its source.

Nothing is imported and nothing is run: the press knows the kernels' package
only as files.
"""

import ast
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from bookpress.errors import PressError


def read_text(path: Path, root: Path) -> str:
    """The text of one of the project's files.

    Raises:
        PressError: it cannot be read, or is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise PressError(f"{path.relative_to(root)}: {error}") from None
    except OSError as error:
        where = path.relative_to(root)
        raise PressError(f"{where}: {error.strerror}") from None


def parse(path: Path, root: Path) -> ast.Module:
    """Parse a file; the tree is shared, and is not to be changed.

    Raises:
        PressError: it cannot be read, or is no valid Python.
    """
    text = read_text(path, root)
    try:
        return _tree(text)
    except SyntaxError as error:
        where = path.relative_to(root)
        raise PressError(f"{where}:{error.lineno}: {error.msg}") from None


@cache
def _tree(text: str) -> ast.Module:
    # Kept by text: the same files are read for every snippet of a build.
    return ast.parse(text)


def module_file(module: str, root: Path) -> Path | None:
    """The file of a first-party module under `src/`, or None."""
    # Asked thousands of times in a build: pathlib would take most of it.
    base = f"{root}/src/{module.replace('.', '/')}"
    for path in (f"{base}.py", f"{base}/__init__.py"):
        if os.path.isfile(path):
            return Path(path)
    return None


def is_type_checking(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Name)
        and node.test.id == "TYPE_CHECKING"
    )


@cache
def _imports(tree: ast.AST) -> tuple[ast.Import | ast.ImportFrom, ...]:
    found: list[ast.Import | ast.ImportFrom] = []
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.Import | ast.ImportFrom):
            found.append(child)
        elif isinstance(child, ast.stmt) and not is_type_checking(child):
            found += _imports(child)
    return tuple(found)


def _with_parents(module: str) -> list[str]:
    parts = module.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts) + 1)]


def _imported_files(file: Path, root: Path) -> Iterator[Path]:
    for node in _imports(parse(file, root)):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif node.level:
            raise PressError(
                f"{file.relative_to(root)}:{node.lineno}: a relative import; "
                "write it as `from package.module import name`"
            )
        else:
            modules = [node.module or ""]
        for module in modules:
            for name in _with_parents(module):
                if path := module_file(name, root):
                    yield path
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from _imported_names(node, node.module, root)


def _imported_names(
    node: ast.ImportFrom, module: str, root: Path
) -> Iterator[Path]:
    """`from package import name`: a submodule, or what `__init__` exports."""
    package = module_file(module, root)
    if package is None or package.name != "__init__.py":
        return
    for alias in node.names:
        if path := module_file(f"{module}.{alias.name}", root):
            yield path
        else:
            # A lazy export may come from any file of the package.
            yield from sorted(package.parent.rglob("*.py"))


@cache
def first_party_files(path: Path, root: Path) -> list[Path]:
    """The file itself and every first-party file it imports, transitively.

    Kept until `cache_clear`, which every press calls: a build asks for the
    same files several times, and they can change from build to build.
    """
    found: dict[Path, None] = {path: None}
    waiting = [path]
    while waiting:
        for imported in _imported_files(waiting.pop(), root):
            if imported not in found:
                found[imported] = None
                waiting.append(imported)
    return sorted(found)
