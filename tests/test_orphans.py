"""Nothing in the book stands alone, and nothing on a page was typed.

Each check lists what is wrong in a project, with its place. It is made of the
book, where it must find nothing, and of a small project in which everything
that it looks for is wrong.
"""

import ast
import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bookpress.definitions import Module
from bookpress.expected import label_of
from bookpress.pages import Fence, all_fences
from bookpress.snippet import (
    SCRIPT_BLOCK,
    Snippet,
    all_snippets,
    plain_name,
)
from bookpress.standalone import chapters

ROOT = Path(__file__).parents[1]
LIBRARY = "src/triton_grad"
# Code and output on a page come from files and runs: no other language may
# be typed. (A diagram that no run can make may.)
LANGUAGES = {
    "snippet",
    "kernel",
    "standalone",
    "trap",
    "museum",
    "plot",
    "mermaid",
}
# What snippets/ holds besides the chapters.
FOLDERS = ("reference", "traps", "check")
COLUMNS = 78
CODE_LINES = 45


def bodies(root: Path, language: str) -> Iterator[tuple[Fence, str]]:
    """The fences of a language, each with every line of its body."""
    for fence in all_fences(root):
        if fence.language == language:
            for line in fence.body:
                if line.strip():
                    yield fence, line.strip()


def pages(root: Path) -> Iterator[tuple[str, str]]:
    for path in sorted((root / "docs").rglob("*.md")):
        yield path.relative_to(root).as_posix(), path.read_text("utf-8")


# ---------------------------------------------------------------- the checks


def snippet_without_page(root: Path) -> Iterator[str]:
    shown = {
        plain_name(line)
        for language in ("snippet", "museum")
        for _, line in bodies(root, language)
    }
    for snippet in all_snippets(root):
        if snippet.name not in shown:
            yield f"{snippet.relative}: no page shows it"


def twin_of(snippet: Snippet) -> str:
    stem = snippet.name.split("/")[-1]
    return f"tests/{snippet.chapter}/test_{stem}.py"


def snippet_without_twin(root: Path) -> Iterator[str]:
    for snippet in all_snippets(root):
        twin = root / twin_of(snippet)
        text = twin.read_text("utf-8") if twin.is_file() else ""
        if not re.search(r"^def test_", text, re.MULTILINE):
            yield f"{snippet.relative}: no test in {twin_of(snippet)}"


def twin_without_snippet(root: Path) -> Iterator[str]:
    twins = {twin_of(snippet) for snippet in all_snippets(root)}
    for folder in ("ch*", *FOLDERS):
        for path in sorted(root.glob(f"tests/{folder}/test_*.py")):
            name = path.relative_to(root).as_posix()
            if name not in twins:
                yield f"{name}: there is no such snippet"


def output_without_snippet(root: Path) -> Iterator[str]:
    names = {snippet.path for snippet in all_snippets(root)}
    for path in sorted((root / "snippets").rglob("*")):
        known = path.with_name(f"{path.name.split('.')[0]}.py") in names
        is_output = path.name.count(".") == 2 and path.suffix == ".out"
        is_known = known and (path.suffix == ".py" or is_output)
        if path.is_file() and not is_known and path.suffix != ".pyc":
            yield f"{path.relative_to(root)}: it belongs to no snippet"


def fence_without_source(root: Path) -> Iterator[str]:
    names = {snippet.name for snippet in all_snippets(root)}
    for fence, line in bodies(root, "snippet"):
        if plain_name(line) not in names:
            yield f"{fence.page}:{fence.line}: no snippet {line}"
    defined = {
        name
        for path in (root / LIBRARY).rglob("*.py")
        for name in Module(path, root).definitions
    }
    for fence, line in bodies(root, "kernel"):
        for name in set(line.split()) - defined:
            yield f"{fence.page}:{fence.line}: no kernel {name}"
    for fence, line in bodies(root, "standalone"):
        if line not in chapters(root):
            yield f"{fence.page}:{fence.line}: no chapter {line}"


def typed_block(root: Path) -> Iterator[str]:
    for fence in all_fences(root):
        if fence.language not in LANGUAGES:
            what = fence.language or "no language"
            yield f"{fence.page}:{fence.line}: a typed block ({what})"
    for page, text in pages(root):
        for number, line in enumerate(text.splitlines(), start=1):
            if re.search(r"<(pre|samp|output|textarea)\b", line):
                yield f"{page}:{number}: a typed block (HTML)"


def trap_without_page(root: Path) -> Iterator[str]:
    shown = {line for _, line in bodies(root, "trap")}
    for path in sorted((root / LIBRARY / "traps").glob("[a-z]*.py")):
        if path.stem not in shown:
            yield f"{path.relative_to(root)}: no page shows it"


def chapter_without_program(root: Path) -> Iterator[str]:
    shown = {line for _, line in bodies(root, "standalone")}
    for chapter in chapters(root).keys() - shown:
        yield f"snippets/{chapter}: no page shows its complete program"


BLANK = re.compile(
    r"^[ ]*(?P<ticks>`{3,}|~{3,}).*?^[ ]*(?P=ticks)[ ]*$"  # fences
    r"|\{\{.*?\}\}"  # values
    r"|\$\$.*?\$\$|\$[^$\n]+(?:\n[^$\n]+)?\$"  # maths
    r"|\]\([^)]*\)",  # addresses
    re.DOTALL | re.MULTILINE,
)
# 0.5 and section 16.3.2 may be typed; 0.8675, 6422.1 and 7.9e-07 may not.
MEASURED = re.compile(
    r"(?<![\w.])\d+(?:\.\d+)?e[-+]?\d+\b"
    r"|(?<![\w.])(?:\d+\.\d{3,}|\d{3,}\.\d+|\d{2}\.\d{2,})\b(?!\.\d)"
)


def typed_number(root: Path) -> Iterator[str]:
    for page, text in pages(root):
        prose = BLANK.sub(lambda it: "\n" * it[0].count("\n"), text)
        for number, line in enumerate(prose.splitlines(), start=1):
            for found in MEASURED.findall(line):
                yield f"{page}:{number}: {found} was typed, not measured"


NAME = re.compile(rf"(ch\d\d|{'|'.join(FOLDERS)})/\d\d[a-z]?_[a-z0-9_]+")


def strange_name(root: Path) -> Iterator[str]:
    for snippet in all_snippets(root):
        if not NAME.fullmatch(snippet.name):
            yield f"{snippet.relative}: not chNN/NN_what_it_shows.py"


def too_large(root: Path) -> Iterator[str]:
    for snippet in all_snippets(root):
        for number, line in enumerate(snippet.source.splitlines(), start=1):
            if len(line) > COLUMNS:
                where = f"{snippet.relative}:{number}"
                yield f"{where}: {len(line)} columns"
        source = SCRIPT_BLOCK.sub("", snippet.source, count=1)
        lines = [line.strip() for line in source.splitlines()]
        code = [line for line in lines if line and not line.startswith("#")]
        if len(code) > CODE_LINES:
            yield f"{snippet.relative}: {len(code)} lines of code"


def strange_import(root: Path) -> Iterator[str]:
    """Only `from triton_grad.module import name` can be written out."""
    paths = [snippet.path for snippet in all_snippets(root)]
    for path in [*paths, *sorted((root / LIBRARY).rglob("*.py"))]:
        where = path.relative_to(root).as_posix()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom) and (
                is_ours(node) and not is_allowed(node, root)
            ):
                yield f"{where}:{node.lineno}: {ast.unparse(node)}"


def is_ours(node: ast.Import | ast.ImportFrom) -> bool:
    names = [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        names = ["triton_grad" if node.level else node.module or ""]
    return "triton_grad" in [name.split(".")[0] for name in names]


def is_allowed(node: ast.Import | ast.ImportFrom, root: Path) -> bool:
    if isinstance(node, ast.Import) or node.level:
        return False
    module = root / "src" / (node.module or "").replace(".", "/")
    plain = all(it.asname is None and it.name != "*" for it in node.names)
    return (
        plain and module.with_suffix(".py").is_file() and not node.col_offset
    )


def two_homes(root: Path) -> Iterator[str]:
    homes: dict[str, str] = {}
    for path in sorted((root / LIBRARY).rglob("*.py")):
        where = path.relative_to(root).as_posix()
        for name in Module(path, root).definitions:
            if name in homes and not name.startswith("__"):
                yield f"{where}: {name} has its home in {homes[name]}"
            homes[name] = where


def label_that_is_not_printed(root: Path) -> Iterator[str]:
    for snippet in all_snippets(root):
        outputs = snippet.path.parent.glob(f"{snippet.path.stem}.*.out")
        texts = [path.read_text(encoding="utf-8") for path in outputs]
        printed = {label_of(line) for t in texts for line in t.splitlines()}
        for device in ("interpreter", "cuda"):
            settings = snippet.settings(device)
            for label in {*settings.loose, *settings.varies} - printed:
                yield f"{snippet.relative}: {label!r} is not printed"


# ----------------------------------------------------------------- the tests

# Check, and what it must find in the project below.
CHECKS: dict[Callable[[Path], Iterator[str]], list[str]] = {
    snippet_without_page: [
        "snippets/ch01/03_Unseen.py: no page shows it",
        "snippets/ch02/01_wide.py: no page shows it",
        "snippets/ch1/01_place.py: no page shows it",
    ],
    snippet_without_twin: [
        "snippets/ch01/02_no_test.py: no test in "
        "tests/ch01/test_02_no_test.py",
        "snippets/ch01/03_Unseen.py: no test in tests/ch01/test_03_Unseen.py",
        "snippets/ch02/01_wide.py: no test in tests/ch02/test_01_wide.py",
        "snippets/ch1/01_place.py: no test in tests/ch1/test_01_place.py",
    ],
    twin_without_snippet: [
        "tests/ch01/test_09_gone.py: there is no such snippet",
        "tests/reference/test_09_gone.py: there is no such snippet",
    ],
    output_without_snippet: [
        "snippets/ch01/09_gone.interpreter.out: it belongs to no snippet",
        "snippets/ch01/notes.txt: it belongs to no snippet",
    ],
    fence_without_source: [
        "docs/one.md:9: no snippet ch01/09_gone.py",
        "docs/one.md:18: no kernel no_kernel",
        "docs/one.md:24: no chapter ch09",
    ],
    typed_block: [
        "docs/one.md:28: a typed block (text)",
        "docs/one.md:32: a typed block (python)",
        "docs/one.md:36: a typed block (no language)",
        "docs/one.md:41: a typed block (HTML)",
    ],
    trap_without_page: ["src/triton_grad/traps/hidden.py: no page shows it"],
    chapter_without_program: [
        "snippets/ch02: no page shows its complete program"
    ],
    typed_number: [
        "docs/one.md:43: 0.8675 was typed, not measured",
        "docs/one.md:43: 7.9e-07 was typed, not measured",
        "docs/one.md:44: 6422.1 was typed, not measured",
        "docs/one.md:44: 12.34 was typed, not measured",
    ],
    strange_name: [
        "snippets/ch01/03_Unseen.py: not chNN/NN_what_it_shows.py",
        "snippets/ch1/01_place.py: not chNN/NN_what_it_shows.py",
    ],
    too_large: [
        "snippets/ch02/01_wide.py:3: 79 columns",
        "snippets/ch02/01_wide.py: 47 lines of code",
    ],
    strange_import: [
        "snippets/ch01/03_Unseen.py:2: import triton_grad.gelu",
        "snippets/ch01/03_Unseen.py:3: from triton_grad import gelu",
        "snippets/ch01/03_Unseen.py:4: from triton_grad.gelu import *",
        "snippets/ch01/03_Unseen.py:5: from triton_grad.gelu import a as b",
        "snippets/ch01/03_Unseen.py:7: from triton_grad.gelu import gelu",
        "src/triton_grad/square.py:1: from .gelu import gelu",
    ],
    two_homes: [
        "src/triton_grad/square.py: gelu has its home in "
        "src/triton_grad/gelu.py"
    ],
    label_that_is_not_printed: [
        "snippets/ch01/01_right.py: 'no label' is not printed"
    ],
}
WRONG = {
    "src/triton_grad/__init__.py": "",
    "src/triton_grad/gelu.py": "def gelu(): ...\n",
    "src/triton_grad/square.py": "from .gelu import gelu\ngelu = gelu\n",
    "src/triton_grad/traps/__init__.py": "",
    "src/triton_grad/traps/_grid.py": "",
    "src/triton_grad/traps/hidden.py": "",
    "src/triton_grad/traps/shown.py": "",
    "snippets/ch01/01_right.py": """\
        '''Right.'''

        # /// script
        # [tool.bookpress]
        # loose = {"a" = 0.5}
        # varies = {cuda = ["no label"]}
        # ///

        from triton_grad.gelu import gelu

        print("a:", gelu())
        """,
    "snippets/ch01/01_right.interpreter.out": "a: 1\n",
    "snippets/ch01/01_right.h200.out": "a: 1\n",
    "snippets/ch01/02_no_test.py": "'''No test.'''\nprint('a: 1')\n",
    "snippets/ch01/03_Unseen.py": """\
        '''Unseen, with imports that cannot be written out.'''
        import triton_grad.gelu
        from triton_grad import gelu
        from triton_grad.gelu import *
        from triton_grad.gelu import a as b
        def f():
            from triton_grad.gelu import gelu
        """,
    "snippets/ch01/09_gone.interpreter.out": "a: 1\n",
    "snippets/ch01/notes.txt": "a: 1\n",
    "snippets/ch02/01_wide.py": (
        f"'''Wide.'''\n\nx = '{'x' * 73}'\n" + "y = 1\n# why\n\n" * 45
    ),
    "snippets/ch1/01_place.py": "'''A folder of no chapter.'''\n",
    "snippets/reference/01_right.py": "'''Right.'''\n",
    "tests/reference/test_01_right.py": "\ndef test_it(): ...\n",
    "tests/reference/test_09_gone.py": "\ndef test_it(): ...\n",
    "tests/ch01/test_01_right.py": "\ndef test_it(): ...\n",
    "tests/ch01/test_02_no_test.py": "# to do\n",
    "tests/ch01/test_09_gone.py": "\ndef test_it(): ...\n",
    "docs/one.md": """\
        # 1.1 One

        See 16.3.2, 0.5 and 1.25, [x](a1.2345.md), $0.12345$,
        {{ value("ch01/01_right", "0.12345") }}.
        ```snippet exec="on"
        ch01/01_right.py
        ```

        ```snippet exec="on"
        ch01/09_gone.py
        ```
        ```snippet exec="on"
        ch01/02_no_test
        ```
        ```snippet exec="on"
        reference/01_right
        ```
        ```kernel exec="on"
        gelu no_kernel
        ```
        ```standalone exec="on"
        ch01
        ```
        ```standalone exec="on"
        ch09
        ```

        ```text
        1.2345
        ```

        ```python
        x = 1.2345
        ```

        ```
        ```
        ```mermaid
        graph LR; a --> b
        ```
        <pre>x: 1</pre>

        It is 0.8675, and the difference is 7.9e-07: see 1.1. The
        ratio is 6422.1, the share 12.34 percent.

        ```trap exec="on"
        shown
        ```
        """,
}


@pytest.fixture(scope="module")
def wrong_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("wrong")
    for name, text in WRONG.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
    return root


def name_of(check: Callable[[Path], Iterator[str]]) -> str:
    return check.__name__


@pytest.mark.parametrize("check", CHECKS, ids=name_of)
def test_the_book_has_no(check: Callable[[Path], Iterator[str]]) -> None:
    found = list(check(ROOT))
    assert not found, "\n".join(["", *found])


@pytest.mark.parametrize("check", CHECKS, ids=name_of)
def test_it_is_found_where_it_is(
    wrong_project: Path, check: Callable[[Path], Iterator[str]]
) -> None:
    assert list(check(wrong_project)) == CHECKS[check]


def test_the_checks_see_the_book() -> None:
    assert len(all_snippets(ROOT)) > 20
    assert len(all_fences(ROOT)) > 20
    assert len(chapters(ROOT)) >= 2
