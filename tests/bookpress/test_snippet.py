"""A snippet's name, source and metadata, and what is wrong with them."""

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from bookpress.errors import PressError
from bookpress.snippet import (
    Settings,
    Snippet,
    all_snippets,
    find_snippet,
    plain_name,
)

Write = Callable[[str, str], Path]


@pytest.fixture
def with_block(root: Path, write: Write) -> Callable[[str], Snippet]:
    """A snippet with these lines in its PEP 723 block."""

    def make(block: str) -> Snippet:
        lines = textwrap.dedent(block).strip().splitlines()
        commented = "".join(f"# {line}".rstrip() + "\n" for line in lines)
        source = f'"""Title."""\n\n# /// script\n{commented}# ///\n\nx = 1\n'
        write("snippets/ch01/01_a.py", source)
        return Snippet("ch01/01_a", root)

    return make


@pytest.fixture
def with_settings(
    with_block: Callable[[str], Snippet],
) -> Callable[[str], Snippet]:
    return lambda lines: with_block(
        "[tool.bookpress]\n" + textwrap.dedent(lines)
    )


def test_without_a_block_the_defaults_hold(root: Path, write: Write) -> None:
    write("snippets/ch01/01_a.py", "x = 1\n")
    assert Snippet("ch01/01_a", root).settings() == Settings()


def test_every_key_is_read(with_settings: Callable[[str], Snippet]) -> None:
    snippet = with_settings(
        """
        exit-code = 139
        timeout = 5
        devices = ["interpreter"]
        rtol = 1e-3
        atol = 0
        loose = {"max abs diff" = 0.5}
        varies = ["tally", "time"]
        fails = "crash"
        not-in-chapter-file = "It ends the process."
        self-contained = false
        """
    )
    assert snippet.settings() == Settings(
        exit_code=139,
        timeout=5.0,
        devices=("interpreter",),
        rtol=1e-3,
        atol=0.0,
        loose={"max abs diff": 0.5},
        varies=("tally", "time"),
        fails="crash",
        not_in_chapter_file="It ends the process.",
        self_contained=False,
    )


def test_a_value_may_differ_by_device(
    with_settings: Callable[[str], Snippet],
) -> None:
    snippet = with_settings(
        """
        exit-code = {interpreter = 139, cuda = 0}
        rtol = {cuda = 0.5}
        varies = {cuda = ["tally"]}
        """
    )
    here, there = snippet.settings(), snippet.settings("cuda")
    assert (here.exit_code, there.exit_code) == (139, 0)
    assert (here.rtol, there.rtol) == (Settings().rtol, 0.5)
    assert (here.varies, there.varies) == ((), ("tally",))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("exit-cod = 1", "'exit-cod' in [tool.bookpress]: did you mean "),
        ("exit_code = 1", "did you mean 'exit-code'?"),
        ("tags = []", "unknown key 'tags' in [tool.bookpress]: "),
        ("exit-code = 'x'", "exit-code = 'x' in [tool.bookpress]: it takes"),
        ("exit-code = -11", "a whole number from 0 to 255"),
        ("exit-code = 256", "a whole number from 0 to 255"),
        ("exit-code = true", "a whole number from 0 to 255"),
        ("exit-code = {interpretor = 1}", "a whole number from 0 to 255"),
        ("timeout = 0", "more than 0 and at most 3600 seconds"),
        ("timeout = 1e9", "more than 0 and at most 3600 seconds"),
        ("timeout = -1", "finite and not negative"),
        ("timeout = inf", "finite and not negative"),
        ("timeout = '5'", "a number"),
        ("rtol = nan", "finite and not negative"),
        ("rtol = false", "a number"),
        ("atol = '1e-7'", "a number"),
        ("devices = []", "a list of devices out of interpreter, cuda"),
        ("devices = ['gpu']", "a list of devices out of interpreter, cuda"),
        ("devices = 'cuda'", "a list of strings"),
        ("loose = ['a']", "a table of label = relative tolerance"),
        ("loose = {a = 'b'}", "a number"),
        ("varies = 'a'", "a list of strings"),
        ("varies = [1]", "a list of strings"),
        ("fails = 'wrong numbr'", "one of 'wrong number', 'crash', 'refu"),
        ("not-in-chapter-file = true", "a sentence"),
        ("not-in-chapter-file = ' '", "a sentence"),
        ("self-contained = 0", "true or false"),
    ],
)
def test_a_bad_key_or_value_names_file_and_way_out(
    with_settings: Callable[[str], Snippet], lines: str, message: str
) -> None:
    with pytest.raises(PressError) as caught:
        with_settings(lines).settings()
    assert str(caught.value).startswith("snippets/ch01/01_a.py: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ("[tool.bookpress", "the PEP 723 block is no TOML: "),
        ("[tool.bookpres]", "'bookpres' in [tool]: did you mean 'bookpress'"),
        ("exit-code = 1", "unknown key 'exit-code' in the PEP 723 block"),
        ("dependancies = []", "did you mean 'dependencies'?"),
        ("tool = 1", "[tool] must be a table"),
        ("tool.bookpress = 1", "[tool.bookpress] must be a table"),
    ],
)
def test_a_bad_block_names_file_and_way_out(
    with_block: Callable[[str], Snippet], block: str, message: str
) -> None:
    with pytest.raises(PressError) as caught:
        with_block(block).settings()
    assert str(caught.value).startswith("snippets/ch01/01_a.py: ")
    assert message in str(caught.value)


def test_settings_outside_a_block_are_an_error(
    root: Path, write: Write
) -> None:
    write("snippets/ch01/01_a.py", "# [tool.bookpress]\n# fails = 'crash'\n")
    with pytest.raises(PressError, match="outside a PEP 723 block"):
        Snippet("ch01/01_a", root).settings()


def test_a_source_that_is_not_utf8_is_an_error(root: Path) -> None:
    path = root / "snippets" / "01_a.py"
    path.write_bytes(b"x = '\xff'\n")
    with pytest.raises(PressError, match=r"01_a\.py: 'utf-8' codec"):
        Snippet("01_a", root).settings()


def test_what_is_shown_is_the_source_without_its_block(
    with_settings: Callable[[str], Snippet],
) -> None:
    snippet = with_settings("exit-code = 1\n\nrtol = 1")
    assert "rtol" in snippet.source
    assert snippet.shown_source == '"""Title."""\n\nx = 1'


@pytest.mark.parametrize(
    "name",
    [
        "ch01/01_a",
        "ch01/01_a.py",
        "snippets/ch01/01_a.py",
        "./snippets/ch01/01_a",
        "  ch01/01_a.py\n",
    ],
)
def test_a_snippet_is_found_by_each_form_of_its_name(
    root: Path, write: Write, name: str
) -> None:
    write("snippets/ch01/01_a.py", "x = 1\n")
    assert plain_name(name) == "ch01/01_a"
    assert find_snippet(name, all_snippets(root)) == Snippet(
        "ch01/01_a", root
    )


def test_an_unknown_name_brings_the_nearest(root: Path, write: Write) -> None:
    write("snippets/ch01/01_grid.py", "x = 1\n")
    write("snippets/ch01/02_mask.py", "x = 1\n")
    with pytest.raises(PressError) as caught:
        find_snippet("ch01/02_maks.py", all_snippets(root))
    assert str(caught.value) == (
        "no snippet 'ch01/02_maks': did you mean 'ch01/02_mask'?"
    )
    with pytest.raises(PressError, match="valid: ch01/01_grid, ch01/02_mas"):
        find_snippet("zzz", all_snippets(root))


def test_snippets_come_in_the_order_of_the_book(
    root: Path, write: Write
) -> None:
    for name in ("ch02/01_a", "ch01/02_b", "ch01/01b_d", "ch01/01_c"):
        write(f"snippets/{name}.py", "x = 1\n")
    names = [snippet.name for snippet in all_snippets(root)]
    assert names == ["ch01/01_c", "ch01/01b_d", "ch01/02_b", "ch02/01_a"]
