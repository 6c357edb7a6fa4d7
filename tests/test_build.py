"""`mkdocs build` makes the pages, with what the runs printed."""

import ast
import html
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Protocol

import pytest
import xdist

from bookpress.book import Book
from bookpress.pages import Fence
from bookpress.snippet import all_snippets

pytestmark = pytest.mark.xdist_group("site")

ROOT = Path(__file__).parents[1]
CHAPTERS = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (ROOT / "docs/chapters").glob("[0-9]*.md")
)
PAGES = sorted(
    path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/**/*.md")
)
FILES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (
        *(snippet.path for snippet in all_snippets(ROOT)),
        *(ROOT / "src/triton_grad").rglob("*.py"),
    )
)


class SiteBuild(Protocol):
    @property
    def folder(self) -> Path: ...
    @property
    def log(self) -> str: ...


def html_of(page: str, site: Path) -> str:
    address = page.removeprefix("docs/").removesuffix(".md")
    folder = address.removesuffix("index")
    return (site / folder / "index.html").read_text(encoding="utf-8")


def blocks(text: str) -> list[str]:
    """The code blocks of a page, as a reader sees them."""
    found = re.findall(r"<pre\b.*?</pre>", text, re.DOTALL)
    return [html.unescape(re.sub("<[^>]*>", "", it)).strip() for it in found]


def fences_of(book: Book, page: str, language: str) -> list[Fence]:
    return [
        fence
        for fence in book.fences
        if (fence.page, fence.language) == (page, language)
    ]


def made(book: Book, page: str) -> Iterator[str]:
    """All blocks that a page may show: sources, outputs, typed diagrams."""
    for snippet in book.snippets:
        yield snippet.shown_source
        for recording in book.recordings(snippet):
            yield recording.output
    for proof in book.proofs.values():
        yield proof.output
    for name, proof in book.programs.items():
        yield (book.root / ".bookpress" / name).read_text(encoding="utf-8")
        yield proof.output
    for fence in fences_of(book, page, "kernel"):
        yield book.definition(" ".join(fence.body).split()).source
    for fence in fences_of(book, page, "trap"):
        trap = book.trap(fence.body[0].strip())
        yield trap.source
        yield trap.fields["Fix"]
        yield book.section(fence.body[0].strip())[0].report
    for fence in fences_of(book, page, "mermaid"):
        yield "\n".join(fence.body)


def signatures() -> Iterator[str]:
    """How the library's functions and classes are called, as typed there."""
    for path in (ROOT / "src/triton_grad").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef) and is_property(node):
                kind = ast.unparse(node.returns or ast.Constant(None))
                yield f"{node.name}: {kind}"
            elif isinstance(node, ast.FunctionDef):
                call = f"{node.name}({arguments(node)})"
                kind = node.returns
                yield f"{call}->{ast.unparse(kind)}" if kind else call
            if isinstance(node, ast.ClassDef):
                yield f"{node.name}({', '.join(made_of(node))})"


def is_property(function: ast.FunctionDef) -> bool:
    return "property" in map(ast.unparse, function.decorator_list)


def arguments(function: ast.FunctionDef) -> str:
    return re.sub("^(self|cls)(, |$)", "", ast.unparse(function.args))


def made_of(node: ast.ClassDef) -> Iterator[str]:
    """What a class is called with: a dataclass with its fields."""
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name == "__init__":
            yield arguments(part)
        if isinstance(part, ast.AnnAssign):
            yield ast.unparse(part)


def unspaced(code: str) -> str:
    """Code without what a formatter, or a page that is narrow, may change."""
    return re.sub(r"\s|,(?=\s*\))|\btorch\.", "", code).replace("'", '"')


def strangers(text: str, known: set[str]) -> list[str]:
    return [block for block in blocks(text) if block not in known]


def test_one_worker_has_all_tests_of_the_site(
    request: pytest.FixtureRequest,
) -> None:
    """Two would each run all snippets, and show each other's outputs."""
    if xdist.is_xdist_worker(request):
        assert request.node.nodeid.endswith("@site")


def test_chapters_are_there() -> None:
    assert len(CHAPTERS) >= 2


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_the_outputs_of_this_build(
    book: Book, built_site: Path, page: str
) -> None:
    text = html_of(page, built_site).replace(' tabindex="0">', ">")
    shown = blocks(text)
    fences = fences_of(book, page, "snippet")
    assert fences or page not in CHAPTERS
    for fence in fences:
        snippet = book.snippet(" ".join(fence.body))
        outputs = [it.output for it in book.recordings(snippet)]
        if snippet.name in book.proofs:
            outputs.append(book.proofs[snippet.name].output)
        assert outputs
        for output in outputs:
            if 'html="on"' in fence.options:
                assert book.proofs[snippet.name].output.strip() in text
            elif 'result="mermaid"' in fence.options:
                assert book.proofs[snippet.name].output.strip() in shown
            else:
                assert output.strip() in shown, snippet.name


@pytest.mark.parametrize("page", CHAPTERS)
def test_a_chapter_shows_its_complete_program_and_its_output(
    book: Book, built_site: Path, page: str
) -> None:
    shown = blocks(html_of(page, built_site))
    (fence,) = fences_of(book, page, "standalone")
    name = fence.body[0].strip()
    program = built_site / "standalone" / f"{name}.py"
    assert program.read_text(encoding="utf-8").strip() in shown
    assert book.chapter(name).output.strip() in shown


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_no_block_that_no_run_made(
    book: Book, built_site: Path, page: str
) -> None:
    known = {text.strip() for text in made(book, page)}
    found = strangers(html_of(page, built_site), known)
    if page.startswith("docs/reference/"):
        known = {unspaced(signature) for signature in signatures()}
        assert found
        found = [block for block in found if unspaced(block) not in known]
    assert found == []


def test_a_typed_block_is_found() -> None:
    page = "<pre><code><span>x: 1</span>\n</code></pre><pre>y: &lt;2\n</pre>"
    assert strangers(page, {"x: 1", "y: <2"}) == []
    assert strangers(page, {"x: 1.0"}) == ["x: 1", "y: <2"]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_no_traceback_and_nothing_unrendered_in_its_prose(
    built_site: Path, page: str
) -> None:
    text = html_of(page, built_site)
    prose = re.sub(
        r"<pre\b.*?</pre>|<script\b.*?</script>", "", text, flags=re.DOTALL
    )
    for unwanted in ("Traceback", "{{", "}}", "```", "$$", "arithmatex"):
        assert unwanted not in prose


@pytest.mark.parametrize("file", FILES)
def test_a_file_of_code_is_served_as_it_is(
    built_site: Path, file: str
) -> None:
    served = built_site / "code" / file
    assert served.read_bytes() == (ROOT / file).read_bytes()


def test_programs_are_served_as_they_were_run(
    book: Book, built_site: Path
) -> None:
    for name in book.programs:
        served = (built_site / name).read_bytes()
        assert served == (ROOT / ".bookpress" / name).read_bytes()


def test_a_warm_build_runs_no_snippet(site_build: SiteBuild) -> None:
    assert "Documentation built in" in site_build.log
    assert " ran " not in site_build.log


# --------------------------------------------------------------- other hosts


FETCHING = {"src", "srcset", "poster", "data", "background", "xlink:href"}


class Loads(HTMLParser):
    """What a browser fetches for a page by itself; links are not fetched."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(
        self, tag: str, attrs: list[tuple[str, str | None]]
    ) -> None:
        given = {name: value or "" for name, value in attrs}
        self.found += [given[n] for n in FETCHING & given.keys()]
        if tag in ("link", "use", "image", "base") and "href" in given:
            self.found.append(given["href"])
        self.found += styled(given.get("style", ""))


def styled(css: str) -> list[str]:
    """What a style sheet fetches."""
    imported = re.findall(r"@import\s+[\"']([^\"']+)", css)
    return imported + re.findall(r"url\(\s*[\"']?([^\"')]+)", css)


def elsewhere(addresses: list[str]) -> list[str]:
    other = re.compile(r"\s*([a-z]+:)?//", re.IGNORECASE)
    return [address for address in addresses if other.match(address)]


def loads_of(text: str) -> list[str]:
    styles = re.findall(r"<style\b.*?</style>", text, re.DOTALL)
    return Loads(text).found + styled("\n".join(styles))


def test_no_page_loads_anything_from_another_host(built_site: Path) -> None:
    pages = list(built_site.rglob("*.html"))
    assert len(pages) >= len(PAGES)
    for page in pages:
        found = loads_of(page.read_text(encoding="utf-8"))
        assert found, page
        assert elsewhere(found) == [], page


def test_no_style_loads_anything_from_another_host(built_site: Path) -> None:
    sheets = list(built_site.rglob("*.css"))
    assert sheets
    for sheet in sheets:
        found = styled(sheet.read_text(encoding="utf-8"))
        assert elsewhere(found) == [], sheet


def test_our_own_scripts_name_no_other_host() -> None:
    """Those of Material and Mermaid hold addresses that they never ask."""
    paths = [*ROOT.glob("docs/**/*.js"), *ROOT.glob("overrides/**/*.html")]
    for path in paths:
        if "vendor" not in path.parts:
            text = path.read_text(encoding="utf-8")
            assert not re.search(r"[\"'`](https?:)?//", text), path


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://a.b/c.js"></script>',
        "<img src=//a.b/c.png>",
        '<link rel="stylesheet" href="http://a.b/c.css">',
        '<img srcset="HTTPS://a.b/c.png 2x">',
        "<style>@import 'https://a.b/c.css'</style>",
        "<style>p { background: url( '//a.b/c.png' ) }</style>",
        '<p style="background: url(https://a.b/c.png)">',
        '<svg><use href="https://a.b/c.svg#d"/></svg>',
    ],
)
def test_an_address_of_another_host_is_found(text: str) -> None:
    assert elsewhere(loads_of(text))


def test_a_link_and_an_address_of_ours_are_not_found() -> None:
    text = '<a href="https://a.b">c</a><img src="../c.png"><p style="x: y">'
    assert elsewhere(loads_of(text)) == []
