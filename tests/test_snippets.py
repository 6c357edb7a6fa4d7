"""Every snippet is proven, and so is every program written from them."""

from pathlib import Path

import pytest

from bookpress.book import Book
from bookpress.snippet import Snippet, all_snippets
from bookpress.standalone import chapters

pytestmark = pytest.mark.xdist_group("site")

ROOT = Path(__file__).parents[1]
SNIPPETS = [
    pytest.param(snippet, id=snippet.name) for snippet in all_snippets(ROOT)
]


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_a_snippet_prints_what_is_recorded(
    book: Book, snippet: Snippet
) -> None:
    if "interpreter" in snippet.settings().devices:
        proof = book.proofs[snippet.name]
        assert not proof.failures, "\n".join(proof.failures)
        assert proof.output
    else:
        assert book.recordings(snippet), "runs on a GPU; nothing is recorded"


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_a_snippets_program_runs_alone(book: Book, snippet: Snippet) -> None:
    settings = snippet.settings()
    if settings.self_contained and "interpreter" in settings.devices:
        assert_proven(book, f"standalone/{snippet.name}.py")


@pytest.mark.parametrize("chapter", chapters(ROOT))
def test_a_chapters_program_runs_alone(book: Book, chapter: str) -> None:
    assert_proven(book, f"standalone/{chapter}.py")


def test_nothing_is_wrong_with_the_book(book: Book) -> None:
    assert book.verdict() is None


def assert_proven(book: Book, program: str) -> None:
    if not book.programs:
        pytest.skip("a snippet failed, so that no program was run")
    proof = book.programs[program]
    assert not proof.failures, "\n".join(proof.failures)
