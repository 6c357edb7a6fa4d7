"""Write self-contained programs: snippets with what they use written out.

A program holds one snippet, or all of a chapter's, and every definition of
`triton_grad` they use, once, found by name in the syntax trees. It imports
none of our packages, so that it can be copied anywhere; the press runs it
where `src/` is not on the path.
"""

import ast
import json
import re
import textwrap
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from bookpress.definitions import Meanings, Module, names_in
from bookpress.errors import PressError
from bookpress.expected import drift, write_whole
from bookpress.press import Job, compare_with_record, indented
from bookpress.snippet import Settings, Snippet, all_snippets
from bookpress.sources import module_file

# Triton's interpreter imports the last one itself.
EVERY_KERNELS = ("torch", "triton", "numpy")
CHAPTER = re.compile(r"ch\d\d")
MARK = re.compile(r"^--- (\S+): .* ---$", re.MULTILINE)


class UnwritableError(PressError):
    """Programs that cannot be written.

    Attributes:
        reasons: What is wrong, by the program's name.
    """

    def __init__(self, reasons: dict[str, str]) -> None:
        super().__init__("\n".join(dict.fromkeys(reasons.values())))
        self.reasons = reasons


@dataclass
class Imports:
    """Imports from outside the project: what local name means what."""

    meaning: dict[str, Meanings] = field(default_factory=dict)

    def add(self, local: str, new: Meanings, where: str) -> None:
        both = self.meaning.get(local, frozenset()) | new
        self.meaning[local] = both
        # `import torch` and `import torch.nn.functional` go together.
        plain = {(module.split(".")[0], name) for module, name in both}
        if len(both) > 1 and plain != {(local, "")}:
            origins = " and from ".join(sorted({it for it, _ in both}))
            raise PressError(
                f"{where}: {local!r} is imported from {origins}, here or "
                "elsewhere; a standalone file can have one of them"
            )

    def remove(self, others: "Imports") -> None:
        for local in self.meaning.keys() & others.meaning.keys():
            self.meaning[local] -= others.meaning[local]

    def lines(self) -> Iterator[str]:
        plain, members = [], {}
        imports = [
            (local, *meaning)
            for local, meanings in self.meaning.items()
            for meaning in meanings
        ]
        for local, module, name in imports:
            if not name:
                short = local == module.split(".")[0]
                plain.append(
                    f"import {module}" + ("" if short else f" as {local}")
                )
            else:
                short = local == name
                members.setdefault(module, []).append(
                    name if short else f"{name} as {local}"
                )
        yield from sorted(plain)
        for module, names in sorted(members.items()):
            line = f"from {module} import {', '.join(sorted(names))}"
            if len(line) > 78:
                inner = "".join(f"    {name},\n" for name in sorted(names))
                line = f"from {module} import (\n{inner})"
            yield line


class Program:
    """Collects, for some snippets, what must stand in one file."""

    def __init__(self, snippets: Iterable[Snippet], root: Path) -> None:
        self.root = root
        self.loaded: dict[str, Module] = {}
        # The same in the order in which their code can be executed.
        self.modules: dict[str, Module] = {}
        self.wanted: dict[str, set[str]] = {}
        self.first = Imports()
        self.imports = Imports()
        self.snippets = [(s, Module(s.path, root)) for s in snippets]
        for _, module in self.snippets:
            for name, home in module.inside.items():
                self._want(home, name, module)
            for local, meanings in module.outside.items():
                self.imports.add(local, meanings, module.where)
        self.imports.remove(self.first)
        self._refuse_clashes()

    def _load(self, name: str) -> Module:
        """A module, after the packages around it and what those import."""
        if name not in self.loaded:
            path = module_file(name, self.root)
            if path is None:
                raise PressError(f"there is no module {name} under src/")
            module = self.loaded[name] = Module(path, self.root)
            package = name.rpartition(".")[0]
            for home in filter(None, [package, *module.inside.values()]):
                self._load(home)
            self.modules[name] = module
            self.wanted[name] = set()
            if path.name != "__init__.py":
                self._use_statements(module)
        return self.loaded[name]

    def _use_statements(self, module: Module) -> None:
        for statement in module.statements:
            for name in names_in(statement) & module.outside.keys():
                self.first.add(name, module.outside[name], module.where)

    def _want(self, home: str, name: str, user: Module) -> None:
        module = self._load(home)
        if name in self.wanted[home]:
            return
        if name not in module.definitions:
            raise PressError(
                f"{user.where}: {name!r} is not defined in {module.where}; "
                "import it from its home"
            )
        self.wanted[home].add(name)
        for used in names_in(module.definitions[name]):
            if used in module.definitions:
                self._want(home, used, module)
            elif used in module.inside:
                self._want(module.inside[used], used, module)
            elif used in module.outside:
                self.imports.add(used, module.outside[used], module.where)

    def _refuse_clashes(self) -> None:
        home: dict[str, str] = dict.fromkeys(self.imports.meaning, "imports")
        for module, names in self.wanted.items():
            for name in names:
                if name in home:
                    raise PressError(
                        f"{self.modules[module].where}: {name!r} has the "
                        f"name of something in {home[name]}; a standalone "
                        "file can have one of them"
                    )
                home[name] = self.modules[module].where
        for snippet, module in self.snippets:
            for name in module.definitions.keys() & home.keys():
                raise PressError(
                    f"{snippet.relative}: {name!r} has the name of "
                    f"something in {home[name]}; call it otherwise"
                )

    def library(self) -> str:
        """The definitions, in an order in which they can be executed."""
        parts = [*self.first.lines()]
        parts.append("")
        for module in self.modules.values():
            if module.path.name != "__init__.py":
                parts += [module.text(s) for s in module.statements]
        parts += ["", *self.imports.lines()]
        for name, module in self.modules.items():
            nodes = {
                id(node): node
                for key, node in module.definitions.items()
                if key in self.wanted[name]
            }
            if nodes:
                parts.append(f"\n\n# ---- {module.where}")
            for node in nodes.values():
                lines = "\n" if isinstance(node, ast.Assign) else "\n\n"
                parts.append(lines + module.text(node))
        return "\n".join(parts).strip()


def _dependencies(root: Path, code: str) -> list[str]:
    """The library's, but for those that only other parts of it import."""
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    every = tomllib.loads(text)["project"]["dependencies"]
    return [
        requirement
        for requirement in every
        if (name := re.split(r"[^\w-]", requirement)[0]) in EVERY_KERNELS
        or re.search(rf"^\s*(import|from) {name}\b", code, re.MULTILINE)
    ]


def _head(title: str, origin: str, root: Path, code: str) -> str:
    packages = ", ".join(f'"{name}"' for name in _dependencies(root, code))
    return (
        f'"""{title}\n\nWritten by the press from {origin} of the book\n'
        "*Triton, Forward and Backward*; it runs alone. MIT licence.\n"
        '"""\n\n'
        '# /// script\n# requires-python = ">=3.11"\n'
        f"# dependencies = [{packages}]\n# ///\n\n"
    )


def _title(snippet: Snippet, module: Module) -> str:
    docstring = ast.get_docstring(module.tree)
    if not docstring:
        raise PressError(
            f"{snippet.relative}: it has no docstring; its first line is "
            "the example's title"
        )
    return docstring.splitlines()[0]


def snippet_program(snippet: Snippet) -> str:
    """One snippet as a self-contained file.

    Raises:
        PressError: its imports have a form that cannot be written out.
    """
    program = Program([snippet], snippet.root)
    module = program.snippets[0][1]
    title = _title(snippet, module)
    library = program.library()
    body = f"\n\n\n# ---- {snippet.relative}\n\n{module.body()}\n"
    code = library + body
    return _head(title, snippet.relative, snippet.root, code) + code


def _left_out(snippet: Snippet) -> str | None:
    settings = snippet.settings()
    if "interpreter" not in settings.devices:
        return "it needs a GPU"
    if not settings.self_contained:
        return "it needs the package"
    return settings.not_in_chapter_file


def chapter_program(chapter: str, snippets: list[Snippet]) -> str:
    """All worked examples of a chapter, one after another, in one file."""
    root = snippets[0].root
    inside = [s for s in snippets if _left_out(s) is None]
    program = Program(inside, root)
    modules = {snippet.name: module for snippet, module in program.snippets}
    number = chapter.removeprefix("ch")
    library = program.library()
    head = _head(
        f"Chapter {number}, complete: its worked examples in order.",
        f"snippets/{chapter}/",
        root,
        library,
    )
    parts = [head + library]
    for snippet in snippets:
        module = modules.get(snippet.name) or Module(snippet.path, root)
        stem = snippet.name.split("/")[-1]
        title = _print(f"--- {stem}: {_title(snippet, module)} ---")
        reason = _left_out(snippet)
        says = _print(f"left out: {reason}") if reason else module.body()
        parts.append(f"# ---- {snippet.relative}\n\n{title}\n{says}\nprint()")
    return "\n\n\n".join(parts) + "\n"


def _print(text: str) -> str:
    """A call that prints a line, in code of at most 78 columns."""
    pieces = textwrap.wrap(text, 66, drop_whitespace=False)
    if len(pieces) == 1:
        return f"print({json.dumps(text, ensure_ascii=False)})"
    lines = [f"    {json.dumps(p, ensure_ascii=False)}" for p in pieces]
    return "\n".join(["print(", *lines, ")"])


def chapters(root: Path) -> dict[str, list[Snippet]]:
    """The snippets of every chapter, by chapter.

    Those in another folder, such as the reference's, tell no story that one
    program could tell.
    """
    found: dict[str, list[Snippet]] = {}
    for snippet in all_snippets(root):
        if CHAPTER.fullmatch(snippet.chapter):
            found.setdefault(snippet.chapter, []).append(snippet)
    return found


def _programs(root: Path) -> Iterator[tuple[str, Callable[[], str]]]:
    for snippet in all_snippets(root):
        if snippet.settings().self_contained:
            yield snippet.name, partial(snippet_program, snippet)
    for chapter, snippets in chapters(root).items():
        yield chapter, partial(chapter_program, chapter, snippets)


def write_all(root: Path, folder: Path) -> list[Path]:
    """Write every standalone file into a folder.

    Returns:
        The files: `ch16.py` for a chapter, `ch16/01_name.py` for a snippet.

    Raises:
        UnwritableError: some cannot be written; the others are.
    """
    written, reasons = [], {}
    for name, program in _programs(root):
        try:
            text = program()
        except PressError as error:
            reasons[name] = str(error)
            continue
        path = folder / f"{name}.py"
        if not path.is_file() or path.read_text("utf-8") != text:
            write_whole(path, text)
        written.append(path)
    if reasons:
        raise UnwritableError(reasons)
    return written


def _compare_chapter(
    chapter: str, snippets: list[Snippet], output: str
) -> list[str]:
    """Every part of the output against the record of its snippet."""
    pieces = MARK.split(output)[1:]
    parts = dict(zip(pieces[::2], pieces[1::2], strict=True))
    failures = []
    for snippet in snippets:
        if _left_out(snippet) is not None:
            continue
        stem = snippet.name.split("/")[-1]
        recorded = snippet.output_path("interpreter")
        if stem not in parts:
            failures.append(f"standalone/{chapter}.py: no part {stem}")
        elif recorded.is_file():
            got = parts[stem].strip("\n") + "\n"
            want = recorded.read_text(encoding="utf-8").strip("\n") + "\n"
            if lines := drift(want, got, snippet.settings()):
                failures.append(
                    f"standalone/{chapter}.py: the part {stem} prints "
                    f"something else than the snippet:\n{indented(lines)}\n"
                    "    An example before it may have changed something "
                    "global: undo it there, or give\n    one of them a "
                    "`not-in-chapter-file`."
                )
    return failures


def standalone_jobs(root: Path, folder: Path) -> list[Job]:
    """The jobs that prove the files written into a folder."""
    jobs = []
    for snippet in all_snippets(root):
        settings = snippet.settings()
        if settings.self_contained and "interpreter" in settings.devices:
            jobs.append(_snippet_job(snippet, settings, folder))
    for chapter, snippets in chapters(root).items():

        def compare(output: str, chapter=chapter, snippets=snippets):
            return _compare_chapter(chapter, snippets, output)

        path = folder / f"{chapter}.py"
        name = f"standalone/{chapter}.py"
        settings = Settings(timeout=300.0)
        jobs.append(Job(name, path, settings, compare, alone=True))
    return jobs


def _snippet_job(snippet: Snippet, settings: Settings, folder: Path) -> Job:
    def compare(output: str) -> list[str]:
        return [
            f"standalone/{snippet.name}.py, written from it: {failure}"
            for failure in compare_with_record(snippet, "interpreter", output)
        ]

    path = folder / f"{snippet.name}.py"
    name = f"standalone/{snippet.name}.py"
    return Job(name, path, settings, compare, alone=True)
