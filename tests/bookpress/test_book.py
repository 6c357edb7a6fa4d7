"""The book that is being built: what pages get, and what is wrong with it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bookpress.book import Book, UnprovenError
from bookpress.errors import PressError

pytestmark = pytest.mark.xdist_group("book")

MakeProject = Callable[[Path, dict[str, str]], Path]

RECORDED_ON = """\
# gpu: NVIDIA H200
# driver: 570.1
# torch: 2.11.0
# triton: 3.6.0
# commit: abc1234
# date: 2026-01-01
# exit code: 139
# digest: 0123456789abcdef
#
"""
FILES = {
    "src/triton_grad/__init__.py": "",
    "src/triton_grad/gelu.py": """
        '''One op.'''

        from typing import TYPE_CHECKING

        SCALE = 2
        HALF = 0.5


        # Why it is so.
        def gelu(x):
            return SCALE * x


        def both():
            return 1
        """,
    "src/triton_grad/trap.py": """
        '''A wrong one.

        Fails: wrong number
        '''


        def gelu_no_chain_rule(x):
            return x


        def both():
            return 2
        """,
    "snippets/ch01/01_gelu.py": """
        '''Gelu.'''

        from triton_grad.gelu import gelu

        print("ratio:", gelu(3211.0526876168))
        print("count:", 10)
        print("words:", "not a number")
        """,
    "snippets/ch01/01_gelu.interpreter.out": """
        ratio: 6422.1053752336
        count: 10
        words: not a number
        """,
    "snippets/ch01/01_gelu.h200.out": RECORDED_ON + "ratio: 6000.5\n",
    "snippets/ch01/02_gpu.py": """
        '''Gpu.'''

        # /// script
        # [tool.bookpress]
        # devices = ["cuda"]
        # ///

        print("a: 1")
        """,
    "docs/chapters/01.md": """
        # One

        ```snippet exec="on"
        ch01/01_gelu.py
        ```

        ??? note

            ```snippet exec="on"
            snippets/ch01/01_gelu
            ```
        """,
}


@pytest.fixture(scope="module")
def book(
    tmp_path_factory: pytest.TempPathFactory, make_project: MakeProject
) -> Book:
    root = make_project(tmp_path_factory.mktemp("book"), FILES)
    (root / ".bookpress/standalone").mkdir(parents=True)
    (root / ".bookpress/standalone/ch99.py").touch()  # of before
    return Book(root, lambda proof: None, use_cache=True)


def test_a_right_book_has_no_problem(book: Book) -> None:
    assert book.problems == []
    assert book.verdict() is None
    assert list(book.proofs) == ["ch01/01_gelu"]
    assert list(book.programs) == [
        "standalone/ch01/01_gelu.py",
        "standalone/ch01.py",
    ]


@pytest.mark.parametrize(
    ("label", "spec", "device", "text"),
    [
        ("ratio", "", "interpreter", "6422.1053752336"),
        ("ratio", ".0f", "interpreter", "6422"),
        ("ratio", ".1f", "h200", "6000.5"),
        ("count", "", "interpreter", "10"),
        ("words", "", "interpreter", "not a number"),
        ("exit code", "", "interpreter", "0"),
        ("exit code", "", "h200", "139"),
    ],
)
def test_a_value_comes_from_an_output(
    book: Book, label: str, spec: str, device: str, text: str
) -> None:
    assert book.value("ch01/01_gelu", label, spec, device) == text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("ch01/01_gelu", "ration"),
            "snippets/ch01/01_gelu.py (interpreter) prints no label "
            "'ration': did you mean 'ratio'?",
        ),
        (
            ("ch01/01_gelu", "count", "", "h200"),
            "snippets/ch01/01_gelu.py (h200) prints no label 'count'",
        ),
        (
            ("ch01/01_glu", "ratio"),
            "no snippet 'ch01/01_glu': did you mean 'ch01/01_gelu'?",
        ),
        (
            ("ch01/01_gelu", "ratio", "", "h20"),
            "snippets/ch01/01_gelu.py: nothing was recorded on 'h20': "
            "did you mean 'h200'?",
        ),
        (
            ("ch01/01_gelu", "words", ".0f"),
            "'words' is 'not a number': no number for '.0f'",
        ),
        (("ch01/01_gelu", "ratio", "nonsense"), "no number for 'nonsense'"),
        (("ch01/02_gpu", "a"), "snippets/ch01/02_gpu.py has no run"),
    ],
)
def test_a_value_that_is_not_there_is_an_error_with_the_nearest_name(
    book: Book, arguments: tuple[str, ...], message: str
) -> None:
    with pytest.raises(PressError) as caught:
        book.value(*arguments)
    assert message in str(caught.value)


def test_definitions_come_from_their_home(book: Book) -> None:
    one = book.definition(["gelu"])
    assert one.where == "src/triton_grad/gelu.py"
    assert one.source == (
        "# Why it is so.\ndef gelu(x):\n    return SCALE * x"
    )
    assert one.fails is None
    assert (
        book.definition(["SCALE", "HALF"]).source == "SCALE = 2\nHALF = 0.5"
    )
    joined = book.definition(["SCALE", "gelu"]).source
    assert joined == f"SCALE = 2\n\n\n{one.source}"
    assert book.definition(["gelu_no_chain_rule"]).fails == "wrong number"


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["gelo"], "src/triton_grad defines no 'gelo': did you mean 'gelu'?"),
        (["gelu", "SCALES"], "defines no 'SCALES': did you mean 'SCALE'?"),
        (["gelu", "gelu_no_chain_rule"], "one block shows one file"),
        (["both"], "src/triton_grad/gelu.py, src/triton_grad/trap.py; one "),
        ([], "no name stands in this block"),
    ],
)
def test_a_definition_that_is_not_there_is_an_error(
    book: Book, names: list[str], message: str
) -> None:
    with pytest.raises(PressError) as caught:
        book.definition(names)
    assert message in str(caught.value)


def test_a_chapter_is_shown_by_its_program(book: Book) -> None:
    output = book.chapter("ch01").output
    assert output.startswith("--- 01_gelu: Gelu. ---\nratio: 6422.105")
    with pytest.raises(PressError, match="no chapter 'ch1': did you mean "):
        book.chapter("ch1")


def test_the_site_serves_code_and_programs_of_this_build(book: Book) -> None:
    served = book.served_files()
    assert set(served) == {
        "code/snippets/ch01/01_gelu.py",
        "code/snippets/ch01/02_gpu.py",
        "code/src/triton_grad/__init__.py",
        "code/src/triton_grad/gelu.py",
        "code/src/triton_grad/trap.py",
        "standalone/ch01.py",
        "standalone/ch01/01_gelu.py",
    }
    assert all(path.is_file() for path in served.values())


def problems_of(root: Path) -> dict[str, str]:
    book = Book(root, lambda proof: None, use_cache=True)
    return {problem.place: problem.message for problem in book.problems}


def test_a_failure_names_each_place_where_it_is_shown(
    root: Path, make_project: MakeProject
) -> None:
    make_project(
        root,
        FILES
        | {
            "snippets/ch01/01_gelu.interpreter.out": "ratio: 1\n",
            "snippets/ch01/03_unseen.py": "'''U.'''\nprint('b: 2')\n",
            "snippets/ch01/04_in_prose.py": "'''P.'''\nprint('b: 2')\n",
            "docs/chapters/02.md": "```snippet\nch01/01_gelu\n```\n",
            "docs/chapters/03.md": """
                # Three

                It is {{ value('ch01/04_in_prose.py', "b") }}.
                """,
        },
    )
    problems = problems_of(root)
    assert set(problems) == {
        "docs/chapters/01.md:3",
        "docs/chapters/01.md:9",
        "docs/chapters/02.md:1",
        "docs/chapters/03.md:3",
        "no page shows it",
    }
    assert "the output is not the one in" in problems["docs/chapters/01.md:3"]
    assert "the output is not the one in" in problems["docs/chapters/01.md:9"]
    assert "03_unseen.py: no output" in problems["no page shows it"]
    assert "04_in_prose.py: no output" in problems["docs/chapters/03.md:3"]
    idle = problems["docs/chapters/02.md:1"]
    assert idle == 'this snippet shows nothing: it lacks exec="on"'


def test_a_verdict_lists_all_problems(
    root: Path, make_project: MakeProject
) -> None:
    make_project(
        root,
        {
            "snippets/ch01/01_a.py": "'''A.'''\nprint('a: 1')\n",
            "snippets/ch01/02_b.py": "'''B.'''\nraise ValueError('why')\n",
        },
    )
    verdict = Book(root, lambda proof: None, use_cache=True).verdict()
    assert verdict is not None
    head, *parts = verdict.split("\n\n")
    assert head == "2 problems in the book"
    assert parts[0].startswith("no page shows it\n  snippets/ch01/01_a.py: ")
    assert "ValueError: why" in parts[1]


def test_every_program_that_cannot_be_written_is_a_problem_of_its_page(
    root: Path, make_project: MakeProject
) -> None:
    aliased = """
        '''Aliased.'''

        from triton_grad.gelu import gelu as g

        print("a: 1")
        """
    make_project(
        root,
        FILES
        | {
            "snippets/ch01/03_aliased.py": aliased,
            "snippets/ch01/03_aliased.interpreter.out": "a: 1\n",
            "snippets/ch01/04_untitled.py": "print('a: 1')\n",
            "snippets/ch01/04_untitled.interpreter.out": "a: 1\n",
            "docs/chapters/02.md": """
                ```snippet exec="on"
                ch01/03_aliased
                ```
                ```snippet exec="on"
                ch01/04_untitled
                ```
                ```standalone exec="on"
                ch01
                ```
                """,
        },
    )
    book = Book(root, lambda proof: None, use_cache=True)
    head, *parts = (book.verdict() or "").split("\n\n")
    assert head == "2 problems in the book"
    assert parts[0].startswith(
        "docs/chapters/02.md:1, docs/chapters/02.md:7\n"
        "  snippets/ch01/03_aliased.py:3: write this import as"
    )
    assert parts[1].startswith(
        "docs/chapters/02.md:4\n"
        "  snippets/ch01/04_untitled.py: it has no docstring"
    )
    with pytest.raises(UnprovenError):
        book.chapter("ch01")


def test_one_mistake_in_a_kernels_file_is_one_problem(
    root: Path, make_project: MakeProject
) -> None:
    broken = "def gelu(x:\n"
    make_project(root, FILES | {"src/triton_grad/gelu.py": broken})
    book = Book(root, lambda proof: None, use_cache=True)
    assert len(book.problems) == 2
    head, part = (book.verdict() or "").split("\n\n")
    assert head == "1 problem in the book"
    assert part.startswith(
        "docs/chapters/01.md:3, docs/chapters/01.md:9\n"
        "  src/triton_grad/gelu.py:1: "
    )


def test_a_program_that_fails_is_a_problem_where_it_is_shown(
    root: Path, make_project: MakeProject
) -> None:
    first = "'''A.'''\nimport os\nos.environ['A'] = '1'\nprint('a: 1')\n"
    second = "'''B.'''\nimport os\nprint('b:', os.getenv('A', '0'))\n"
    make_project(
        root,
        {
            "snippets/ch01/01_leaks.py": first,
            "snippets/ch01/01_leaks.interpreter.out": "a: 1\n",
            "snippets/ch01/02_victim.py": second,
            "snippets/ch01/02_victim.interpreter.out": "b: 0\n",
            "docs/a.md": '\n\n```standalone exec="on"\nch01\n```\n',
        },
    )
    problems = problems_of(root)
    assert list(problems) == ["docs/a.md:1"]
    (message,) = problems.values()
    assert "standalone/ch01.py: the part 02_victim prints" in message
    assert "An example before it may have changed something" in message


def test_what_failed_gives_no_value_and_no_second_problem(
    root: Path, make_project: MakeProject
) -> None:
    files = {"snippets/ch01/01_a.py": "'''A.'''\nprint('a: 1')\n1 / 0\n"}
    make_project(root, files)
    book = Book(root, lambda proof: None, use_cache=True)
    with pytest.raises(UnprovenError, match=r"ch01/01_a\.py failed"):
        book.value("ch01/01_a", "a")
