"""The built site in a real browser: every page, light and dark, wide and
narrow.

Folded answers and hidden tabs are laid open before anything is checked, so
that nothing on a page escapes.
"""

import os
import re
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urldefrag
from urllib.request import urlopen

import pytest
import torch
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from triton_grad.graph import draw_mermaid

# One browser and one built site for all: one worker runs them.
pytestmark = pytest.mark.xdist_group("site")

ROOT = Path(__file__).parents[2]
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}
PAGES = sorted(
    path.relative_to(ROOT / "docs").with_suffix("").as_posix()
    for path in (ROOT / "docs").rglob("*.md")
)
VISITS = [
    pytest.param((page, scheme, size), id=f"{page}-{scheme}-{size}")
    for page in PAGES
    for scheme in ("light", "dark")
    for size in SIZES
]
# For what does not depend on colours, nor on the width of a phone.
PLAIN_VISITS = [
    pytest.param((page, "light", "desktop"), id=page) for page in PAGES
]
every_visit = pytest.mark.parametrize("visit", VISITS, indirect=True)
every_page = pytest.mark.parametrize("visit", PLAIN_VISITS, indirect=True)

# Material draws a diagram in a shadow tree that is closed to the page.
OPEN_SHADOWS = """
const attach = Element.prototype.attachShadow
Element.prototype.attachShadow = function () {
  return attach.call(this, { mode: "open" })
}
"""
LAY_OPEN = """
document.querySelectorAll("details").forEach((it) => (it.open = true))
document.head.insertAdjacentHTML(
  "beforeend",
  "<style>.tabbed-block { display: block !important }</style>",
)
"""
# Tokens of one kind look alike in all blocks of one kind: one stays, the rest
# becomes plain text, because axe needs a minute for a chapter's thousands.
THIN_OUT_TOKENS = """
const seen = new Set()
for (const token of document.querySelectorAll("pre span:not(:has(span))")) {
  const kind = [token.className, !!token.closest(".output")].join()
  if (seen.has(kind)) token.replaceWith(token.textContent)
  seen.add(kind)
}
"""
# What nobody can read in a plot: too small a text, or two in one place.
UNREADABLE = """
plots => plots.flatMap(plot => {
  const found = []
  const texts = [...plot.querySelectorAll("text")]
  const boxes = texts.map(it => it.getBoundingClientRect())
  boxes.forEach((box, i) => {
    if (box.height < 9) found.push(`${texts[i].textContent}: too small`)
    for (let j = 0; j < i; j++) {
      const other = boxes[j]
      const across = Math.min(box.right, other.right)
        - Math.max(box.left, other.left)
      const down = Math.min(box.bottom, other.bottom)
        - Math.max(box.top, other.top)
      // A line's height has air in it.
      if (across > 1 && down > 0.45 * box.height)
        found.push(`${texts[i].textContent} on ${texts[j].textContent}`)
    }
  })
  return found
})
"""
ALL_DRAWN = """
() => !document.querySelector("pre.mermaid")
  && [...document.querySelectorAll("div.mermaid")]
    .every((it) => it.shadowRoot.querySelector("svg"))
"""


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@dataclass(frozen=True)
class Visit:
    """A page that was opened, and what happened meanwhile."""

    page: Page
    base: str
    source: str
    requests: list[str]
    errors: list[str]


@pytest.fixture(scope="session")
def base(built_site: Path) -> Iterator[str]:
    handler = partial(QuietHandler, directory=str(built_site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    if chromium is None:
        missing = "chromium is not installed: apt-get install chromium"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    flags = "--no-sandbox --disable-gpu --disable-background-networking"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=flags.split()
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def visit(
    request: pytest.FixtureRequest, browser: Browser, base: str
) -> Iterator[Visit]:
    name, scheme, size = request.param
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=scheme,
        reduced_motion="reduce",
        permissions=["clipboard-read", "clipboard-write"],
    )
    page = context.new_page()
    requests, errors = [], []
    page.on("request", lambda it: requests.append(it.url))
    page.on("pageerror", lambda it: errors.append(str(it)))
    page.on(
        "console",
        lambda it: errors.append(it.text) if it.type == "error" else None,
    )
    page.add_init_script(OPEN_SHADOWS)
    response = page.goto(address(base, name), wait_until="networkidle")
    assert response is not None
    page.wait_for_function(ALL_DRAWN)
    page.evaluate(LAY_OPEN)
    yield Visit(page, base, response.text(), requests, errors)
    context.close()


def address(base: str, page: str) -> str:
    if page == "index":
        return base
    return base + page.removesuffix("index").rstrip("/") + "/"


@every_visit
def test_no_request_to_another_host(visit: Visit) -> None:
    inside = (visit.base, "data:", "blob:")
    assert [it for it in visit.requests if not it.startswith(inside)] == []


@every_visit
def test_no_error_in_the_console(visit: Visit) -> None:
    assert visit.errors == []


@every_visit
def test_the_page_does_not_scroll_sideways(visit: Visit) -> None:
    assert visit.page.evaluate(
        "document.documentElement.scrollWidth <= innerWidth"
    )


@every_visit
def test_no_serious_barrier_for_readers(visit: Visit) -> None:
    visit.page.evaluate(THIN_OUT_TOKENS)
    results = Axe().run(visit.page, options={"resultTypes": ["violations"]})
    serious = [
        (it["id"], it["help"], [node["target"] for node in it["nodes"]])
        for it in results.response["violations"]
        if it["impact"] in ("serious", "critical")
    ]
    assert serious == []


@every_page
def test_code_of_78_columns_fits_its_block_on_a_desktop(visit: Visit) -> None:
    too_wide = visit.page.locator("pre > code").evaluate_all(
        """blocks => blocks
             .filter(it => it.scrollWidth > it.clientWidth)
             .map(it => it.textContent)
             .filter(it => it.split("\\n").every(it => it.length <= 78))"""
    )
    assert too_wide == []


@every_page
def test_every_code_block_copies_what_it_shows(visit: Visit) -> None:
    for block in visit.page.locator("pre:has(> code)").all():
        shown = block.locator("> code").inner_text()
        visit.page.evaluate("navigator.clipboard.writeText('not copied')")
        button = block.locator("button[data-md-type=copy]")
        assert button.count() == 1, f"no copy button: {shown}"
        button.click()
        copied = visit.page.evaluate("navigator.clipboard.readText()")
        assert copied == shown.rstrip()


@every_visit
def test_every_diagram_is_drawn(visit: Visit) -> None:
    sources = len(re.findall(r'<pre class="mermaid"', visit.source))
    heights = visit.page.locator("div.mermaid").evaluate_all(
        """hosts => hosts.map(it =>
             it.shadowRoot.querySelector("svg").getBoundingClientRect().height
        )"""
    )
    assert len(heights) == sources
    assert all(height > 20 for height in heights)


@every_visit
def test_every_plot_can_be_read(visit: Visit) -> None:
    plots = visit.page.locator("figure.plot")
    panels = plots.evaluate_all(
        """plots => plots.map(it =>
             [`${it.querySelectorAll("svg[role=img]").length}`,
              it.dataset.panels])"""
    )
    assert len(panels) == visit.source.count('<figure class="plot"')
    assert all(drawn == told for drawn, told in panels)
    texts = plots.locator("svg[role=img]").evaluate_all(UNREADABLE)
    assert texts == []


@every_visit
def test_formulas_are_drawn_by_the_browser_itself(visit: Visit) -> None:
    assert "arithmatex" not in visit.source
    heights = visit.page.locator("math").evaluate_all(
        "formulas => formulas.map(it => it.getBoundingClientRect().height)"
    )
    assert len(heights) == visit.source.count("<math")
    assert all(height > 5 for height in heights)


@every_page
def test_links_inside_the_book_lead_somewhere(visit: Visit) -> None:
    links = visit.page.locator("a[href]").evaluate_all(
        "links => links.map(it => it.href)"
    )
    inside = {link for link in links if link.startswith(visit.base)}
    assert inside
    assert [
        link for link in sorted(inside) if not leads_somewhere(link)
    ] == []


def leads_somewhere(link: str) -> bool:
    url, anchor = urldefrag(link)
    text = fetched(url)
    if text is None:
        return False
    return not anchor or f'id="{anchor}"' in text


@cache
def fetched(url: str) -> str | None:
    try:
        with urlopen(url) as response:
            return response.read().decode()
    except HTTPError:
        return None


def test_a_browser_draws_any_name_of_a_tensor(browser: Browser) -> None:
    name = """x#1 #35; "a" <b> &lt; & it's; `c` *d* [e](f) {g} |h| %%"""
    x = torch.ones(2, requires_grad=True)
    page = browser.new_page()
    page.set_content("<body></body>")
    page.add_script_tag(path=ROOT / "docs/assets/vendor/mermaid.tiny.js")
    page.evaluate(
        """async source => {
             mermaid.initialize({ startOnLoad: false })
             const drawn = await mermaid.render("graph", source)
             document.body.innerHTML = drawn.svg
           }""",
        draw_mermaid(x + 1, {name: x}),
    )
    assert page.locator(".nodeLabel").last.inner_text().splitlines() == [
        "AccumulateGrad",
        f"{name}, shape (2,)",
    ]
    page.close()


def test_no_page_or_style_names_another_host_to_load_from(
    built_site: Path,
) -> None:
    loads = re.compile(
        r"""<(?:script|img|iframe|source)\b[^>]*\ssrc=["']?(?:https?:)?//
          | <link\b[^>]*\shref=["']?(?:https?:)?//
          | url\(\s*["']?(?:https?:)?//
          | @import""",
        re.VERBOSE,
    )
    paths = [*built_site.rglob("*.html"), *built_site.rglob("*.css")]
    assert len(paths) > len(PAGES)
    assert [
        (path.name, found[0])
        for path in paths
        if (found := loads.search(path.read_text(encoding="utf-8")))
    ] == []
