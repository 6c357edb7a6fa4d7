"""One file of the project, as definitions that can be written elsewhere."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from bookpress.errors import PressError
from bookpress.snippet import LINT_REMARK, SCRIPT_BLOCK
from bookpress.sources import (
    is_type_checking,
    module_file,
    parse,
    read_text,
)

# What a local name is imported as: (module, name), for a whole module
# (module, ""). Several are `import a` and `import a.b`, which both bind a.
Meanings = frozenset[tuple[str, str]]

# Marks the lines that are wrong on purpose.
WRONG = "  # wrong"


class Module:
    """One file of the project, as definitions that can be written out."""

    def __init__(self, path: Path, root: Path) -> None:
        self.path = path
        self.where = path.relative_to(root).as_posix()
        self.lines = read_text(path, root).splitlines()
        self.tree = parse(path, root)
        self.root = root
        self.definitions: dict[str, ast.stmt] = {}
        self.statements: list[ast.stmt] = []
        self.inside: dict[str, str] = {}
        self.outside: dict[str, Meanings] = {}
        for node in self.tree.body:
            self._sort(node)

    def _sort(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                self._add_module(alias, node)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                self._add_member(node, alias)
        elif names := list(_defined(node)):
            for name in names:
                self.definitions[name] = node
        elif not is_type_checking(node) and not _is_docstring(node):
            self.statements.append(node)

    def _add_module(self, alias: ast.alias, node: ast.stmt) -> None:
        if module_file(alias.name, self.root):
            raise self._form(node)
        local = alias.asname or alias.name.split(".")[0]
        self._add_outside(local, alias.name, "")

    def _add_member(self, node: ast.ImportFrom, alias: ast.alias) -> None:
        module = node.module or ""
        if module == "__future__":
            raise PressError(
                f"{self.where}:{node.lineno}: `from __future__` must stand "
                "first in a file, and standalone files are written from "
                "several; leave it out"
            )
        if not module_file(module, self.root):
            self._add_outside(alias.asname or alias.name, module, alias.name)
        elif alias.asname or module_file(f"{module}.{alias.name}", self.root):
            raise self._form(node)
        else:
            self.inside[alias.name] = module

    def _add_outside(self, local: str, module: str, name: str) -> None:
        known = self.outside.get(local, frozenset())
        self.outside[local] = known | {(module, name)}

    def _form(self, node: ast.stmt) -> PressError:
        return PressError(
            f"{self.where}:{node.lineno}: write this import as "
            "`from package.module import name`, without alias: standalone "
            "files are written from such imports"
        )

    def text(self, node: ast.stmt) -> str:
        """A statement with its decorators and the comments right above."""
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(d.lineno for d in decorators)])
        while first > 1 and self.lines[first - 2].startswith("#"):
            first -= 1
        text = "\n".join(self.lines[first - 1 : node.end_lineno])
        return LINT_REMARK.sub("", text)

    def body(self) -> str:
        """The file without its docstring, metadata and imports."""
        kept = self.lines.copy()
        for node in self.tree.body:
            if isinstance(node, ast.Import | ast.ImportFrom) or _is_docstring(
                node
            ):
                for line in range(node.lineno - 1, node.end_lineno or 0):
                    kept[line] = ""
        text = SCRIPT_BLOCK.sub("", "\n".join(kept) + "\n", count=1)
        return re.sub(r"\n{4,}", "\n\n\n", LINT_REMARK.sub("", text)).strip()


def wrong_lines(text: str) -> list[int]:
    """The numbers of the lines that are marked as wrong, from 1."""
    lines = enumerate(text.splitlines(), start=1)
    return [number for number, line in lines if line.endswith(WRONG)]


def _defined(node: ast.stmt) -> Iterator[str]:
    if isinstance(
        node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    ):
        yield node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and isinstance(
                inner.ctx, ast.Store
            ):
                yield inner.id


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


@cache
def names_in(node: ast.AST) -> frozenset[str]:
    """The names that a piece of code uses, also in written annotations."""
    found = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    texts = (
        n.value
        for n in ast.walk(node)
        if isinstance(n, ast.Constant) and isinstance(n.value, str)
    )
    return frozenset(found) | {text for text in texts if text.isidentifier()}
