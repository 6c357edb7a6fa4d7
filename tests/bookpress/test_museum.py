"""What a trap's file and a run's sections say, in Markdown."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bookpress.book import Book, UnprovenError
from bookpress.definitions import Module, wrong_lines
from bookpress.errors import PressError
from bookpress.fences import Fences
from bookpress.museum import (
    Section,
    prose,
    read_fields,
    read_sections,
    read_trap,
    reports,
    table_of,
    weak_run,
)

pytestmark = pytest.mark.xdist_group("museum")

TRAP = """\
'''The square that is the cube.

Fails: wrong number
Symptom: Too large, for x > 1.
Cause: x * x_x, not `x * x`.
Report: some/where#12 (in C), none found
Caught by: Any number
    but two.
Missed by: 0 and 1.
Fix: if x:
        return x * x
'''

FACTOR = 2


def helper():
    return 1


def cube(x):
    y = x
    return x * x * x  # wrong
"""
OUTPUT = """\
== cube ==
weak test: ones_only
compares: Values, of ones.
outcome: passes
cause: one factor too many
check_op says: one factor too many
told in: chapters/16-powers/#there

Likely cause: one factor too many
  got: 8

== on_gpus ==
weak test: ones_only
compares: Values.
outcome: passes
needs: two GPUs

== Two words ==
traps: 2
tried: 1
named rightly: 1
"""
SNIPPET = """\
'''All.'''

# /// script
# [tool.bookpress]
# self-contained = false
# ///

print('''{output}''')
"""


def test_a_trap_is_its_fields_and_what_is_wrong_in_it(tmp_path: Path) -> None:
    path = tmp_path / "cube.py"
    path.write_text(TRAP)
    trap = read_trap(Module(path, tmp_path))
    assert trap.where == "cube.py"
    assert trap.source.startswith("def cube(x):")
    assert wrong_lines(trap.source) == [3]
    assert "helper" not in trap.source
    assert trap.fields["Caught by"] == "Any number\nbut two."
    assert trap.fields["Fix"] == "if x:\n    return x * x"
    assert len(trap.fields) == 7


def test_a_field_ends_where_no_line_is_indented() -> None:
    assert read_fields("Abc: b\n\n    not its own\nB c: d\n    e") == {
        "Abc": "b",
        "B c": "d\ne",
    }


def test_a_section_is_labels_and_a_report() -> None:
    cube, on_gpus, family = read_sections(OUTPUT)
    assert cube.name == "cube"
    assert cube.value("cause") == "one factor too many"
    assert cube.report.endswith("got: 8")
    assert on_gpus.report == ""
    assert family.value("traps") == "2"
    with pytest.raises(PressError, match="the section cube prints no label"):
        cube.value("caus")


def test_text_is_no_markup_and_code_is_code() -> None:
    assert prose("a_b *c*\n  `d_e` <f>") == (
        "a&#95;b &#42;c&#42; `d_e` &#60;f&#62;"
    )


def test_reports_are_links() -> None:
    assert reports("a/b-c#7 (in C), none found") == (
        "[a/b-c&#35;7](https://github.com/a/b-c/issues/7) (in C), none found"
    )


def test_what_the_weak_test_does() -> None:
    cube, *_ = read_sections(OUTPUT)
    assert weak_run(cube) == (
        "`ones_only` passes. In its own words: Values, of ones."
    )


def test_the_table_sums_up() -> None:
    labels = {"traps": "3", "tried": "3", "named rightly": "2"}
    sections = [Section("One", labels, ""), read_sections(OUTPUT)[-1]]
    table = table_of(sections)
    assert '| <a href="#two-words">Two words</a> | 2 | 1 | 1 |' in table
    assert "| **all** | **5** | **4** | **3** |" in table
    assert "**3 of 4** traps that run here" in table
    assert "For 1 more it takes GPUs." in table
    assert "GPUs" not in table_of(sections[:1])


# ------------------------------------------------------------ in a book


@pytest.fixture(scope="module")
def book(
    tmp_path_factory: pytest.TempPathFactory,
    make_project: Callable[[Path, dict[str, str]], Path],
) -> Book:
    root = make_project(
        tmp_path_factory.mktemp("museum"),
        {
            "src/triton_grad/__init__.py": "",
            "src/triton_grad/traps/__init__.py": "",
            "src/triton_grad/traps/cube.py": TRAP,
            "snippets/traps/01_all.py": SNIPPET.format(output=OUTPUT),
            "snippets/traps/01_all.interpreter.out": OUTPUT + "\n",
            "snippets/ch01/01_all.py": SNIPPET.format(output="a: 1"),
            "snippets/ch01/01_all.interpreter.out": "a: 1\n",
        },
    )
    return Book(root, lambda proof: None, use_cache=True)


def test_what_is_not_self_contained_is_not_written_out(book: Book) -> None:
    assert book.problems == []
    assert list(book.programs) == ["standalone/ch01.py"]
    program = book.programs["standalone/ch01.py"]
    assert "left out: it needs the package" in program.output


def test_a_trap_and_its_run_are_found_by_name(book: Book) -> None:
    assert book.trap("cube").fields["Fails"] == "wrong number"
    section, proof = book.section("cube")
    assert section.value("outcome") == "passes"
    assert proof.name == "snippets/traps/01_all.py"
    assert book.family("traps/01_all").name == "Two words"


def test_what_there_is_not_is_a_problem(book: Book) -> None:
    with pytest.raises(PressError, match="no trap 'cub'"):
        book.trap("cub")
    with pytest.raises(PressError, match="no snippet prints a section"):
        book.section("sphere")
    with pytest.raises(PressError, match="prints no section"):
        book.family("ch01/01_all")


def test_a_section_that_a_failure_may_have_cost_is_none(
    tmp_path: Path, make_project: Callable[[Path, dict[str, str]], Path]
) -> None:
    files = {"snippets/traps/01_all.py": "'''A.'''\n1 / 0\n"}
    broken = Book(make_project(tmp_path, files), lambda _: None, True)
    assert len(broken.problems) == 1
    with pytest.raises(UnprovenError):
        broken.section("cube")
    with pytest.raises(UnprovenError):
        broken.family("traps/01_all")


def test_what_check_op_says_stands_beside_what_it_should(book: Book) -> None:
    fences = Fences(book, place=str, link=str)
    section, proof = book.section("cube")
    shown = fences._check(section, proof)  # pyright: ignore[reportPrivateUsage]
    assert "<summary>check_op: one factor too many</summary>" in shown
    assert "got: 8" in shown
    wrong = Section("cube", {**section.values, "cause": "another"}, "")
    shown = fences._check(wrong, proof)  # pyright: ignore[reportPrivateUsage]
    assert "it should say: another" in shown
    section, proof = book.section("on_gpus")
    shown = fences._check(section, proof)  # pyright: ignore[reportPrivateUsage]
    assert shown.endswith("It needs two GPUs.")
