"""Values in the prose; whole pages are in test_mkdocs_hooks.py."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from bookpress.book import Book
from bookpress.digest import sources_digest
from bookpress.fences import Fences

pytestmark = pytest.mark.xdist_group("book")

HEAD = """\
# gpu: NVIDIA H200
# driver: 570.1
# torch: 2.11.0
# triton: 3.6.0
# commit: abc1234
# date: 2026-01-01
# exit code: 0
# digest: {digest}
#
"""
MEASURED = '{"date": "today", "figures": {"found": "3 of 4"}}'
FILES = {
    "bench/ops.json": MEASURED,
    "snippets/ch01/01_a.py": "'''A.'''\nprint('ratio: 1\\nword: x')\n",
    "snippets/ch01/01_a.interpreter.out": "ratio: 1\nword: x\n",
    "snippets/ch01/02_b.py": "'''B.'''\n1 / 0\n",
}


@pytest.fixture(scope="module")
def book(
    tmp_path_factory: pytest.TempPathFactory,
    make_project: Callable[[Path, dict[str, str]], Path],
) -> Book:
    root = make_project(tmp_path_factory.mktemp("fences"), FILES)
    digest = sources_digest(root / "snippets/ch01/01_a.py", root)
    for device, it in (("h200", digest), ("h100", "0123456789abcdef")):
        output = HEAD.format(digest=it) + "ratio: 2\nword: y\n"
        (root / f"snippets/ch01/01_a.{device}.out").write_text(output)
    return Book(root, lambda proof: None, use_cache=True)


@pytest.fixture(scope="module")
def fences(book: Book) -> Fences:
    """A problem's place is the pattern that would be looked for."""
    return Fences(book, place=str, link=str)


GPU = ", recorded on an NVIDIA H200"
MARK = ' <span class="stale">(earlier version)</span>'


@pytest.mark.parametrize(
    ("label", "device", "shown"),
    [
        (
            "ratio",
            "interpreter",
            '<span class="unbroken" title="ch01/01_a: ratio">1</span>',
        ),
        ("word", "interpreter", "x"),
        (
            "ratio",
            "h200",
            f'<span class="unbroken" title="ch01/01_a: ratio{GPU}">2</span>',
        ),
        ("word", "h200", "y"),
        (
            "ratio",
            "h100",
            f'<span class="unbroken" title="ch01/01_a: ratio{GPU}">2</span>'
            + MARK,
        ),
        ("word", "h100", "y" + MARK),
    ],
)
def test_a_value_tells_where_it_comes_from_and_whether_it_is_stale(
    fences: Fences, label: str, device: str, shown: str
) -> None:
    assert fences.value("ch01/01_a", label, "", device) == shown


@pytest.mark.parametrize(
    "text",
    [
        'value("ch01/01_a", "a (b)")',
        "value('ch01/01_a',\n'a (b)', \".3f\")",
        "value(snippet='ch01/01_a', label='a (b)')",
    ],
)
def test_a_value_that_is_not_there_is_a_problem_at_its_place(
    fences: Fences, book: Book, text: str
) -> None:
    book.problems.clear()
    shown = fences.value("ch01/01_a", "a (b)", "", "interpreter")
    (problem,) = book.problems
    assert "prints no label &#x27;a (b)&#x27;" in shown
    other = 'value("ch01/01_a", "b") value("ch01/01", "a (b)") '
    found = re.search(problem.place, other + text)
    assert found
    assert found.start() == len(other)


def test_what_was_measured_is_read_from_its_file(fences: Fences) -> None:
    shown = fences.measured("ops.json", ("figures", "found"))
    assert shown == "3 of 4"


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("ops.json", ("figures", "lost")),
        ("ops.json", ("date", "found")),
        ("other.json", ("date",)),
    ],
)
def test_what_was_not_measured_is_a_problem_at_its_place(
    fences: Fences, book: Book, name: str, keys: tuple[str, ...]
) -> None:
    book.problems.clear()
    shown = fences.measured(name, keys)
    (problem,) = book.problems
    assert name in shown
    quoted = ", ".join(f'"{it}"' for it in (name, *keys))
    other = 'measured("ops.json", "figures", "found") '
    found = re.search(problem.place, f"{other}measured({quoted})")
    assert found
    assert found.start() == len(other)


def test_a_value_of_what_failed_is_no_second_problem(
    fences: Fences, book: Book
) -> None:
    book.problems.clear()
    shown = fences.value("ch01/02_b", "b", "", "interpreter")
    assert shown == "<strong>snippets/ch01/02_b.py failed</strong>"
    assert book.problems == []
