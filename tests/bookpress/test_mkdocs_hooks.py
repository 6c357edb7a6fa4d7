"""Whole builds by `mkdocs build`, of small books, right and wrong."""

import html
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from bookpress import mkdocs_hooks

pytestmark = pytest.mark.xdist_group("mkdocs_hooks")

MakeProject = Callable[[Path, dict[str, str]], Path]

MKDOCS = f"""
    site_name: Scratch
    theme:
      name: mkdocs
    plugins:
      - macros:
          on_error_fail: false
          on_undefined: strict
      - markdown-exec:
          languages: []
    markdown_extensions:
      - admonition
      - md_in_html
      - pymdownx.arithmatex:
          generic: true
      - pymdownx.details
      - pymdownx.highlight
      - pymdownx.superfences:
          custom_fences:
            - name: mermaid
              class: mermaid
              format: !!python/name:pymdownx.superfences.fence_code_format
      - pymdownx.tabbed:
          alternate_style: true
    hooks:
      - {Path(mkdocs_hooks.__file__)}
    """
RECORDED_ON = """\
# gpu: NVIDIA H200
# driver: 570.1
# torch: 2.11.0
# triton: 3.6.0
# commit: abc1234
# date: 2026-01-01
# exit code: 0
# digest: 0123456789abcdef
#
"""
LIBRARY = {
    "mkdocs.yml": MKDOCS,
    "src/triton_grad/__init__.py": "",
    "src/triton_grad/gelu.py": """
        '''One op.'''

        SCALE = 2


        def gelu(x):
            return SCALE * x
        """,
    "src/triton_grad/trap.py": """
        '''Wrong.

        Fails: wrong number
        '''

        def gelu_trap(x):
            return x
        """,
}
RIGHT = LIBRARY | {
    "snippets/ch01/01_gelu.py": """
        '''Gelu.'''

        # /// script
        # [tool.bookpress]
        # rtol = 1e-3
        # ///

        from triton_grad.gelu import gelu

        print("ratio:", gelu(3211.0526876168))
        print("less: 1 < 2")
        """,
    "snippets/ch01/01_gelu.interpreter.out": ("ratio: 6422.1\nless: 1 < 2\n"),
    "snippets/ch01/01_gelu.h200.out": RECORDED_ON + "ratio: 6000.5\n",
    "snippets/ch01/02_crash.py": """
        '''Crash.'''

        # /// script
        # [tool.bookpress]
        # exit-code = 139
        # fails = "crash"
        # not-in-chapter-file = "It ends the process."
        # ///

        import ctypes

        print("begun: yes")
        ctypes.string_at(0)
        """,
    "snippets/ch01/02_crash.interpreter.out": "begun: yes\n",
    "snippets/ch01/03_draws.py": """
        '''Draws.'''

        print("<svg><title>drawn</title></svg>")
        """,
    "snippets/ch01/03_draws.interpreter.out": (
        "<svg><title>drawn</title></svg>\n"
    ),
    "snippets/ch01/04_graph.py": "'''Graph.'''\nprint('graph LR; a --> b')\n",
    "snippets/ch01/04_graph.interpreter.out": "graph LR; a --> b\n",
    "docs/index.md": """
        # One

        The ratio is {{ value("ch01/01_gelu", "ratio", ".0f") }}, on a GPU
        {{ value("ch01/01_gelu", "ratio", device="h200") }}.

        $x^2$

        ```snippet exec="on" source="above" result="text"
        ch01/01_gelu.py
        ```

        ??? question "Folded"

            ```snippet exec="on" source="above" result="text"
            ch01/02_crash.py
            ```

        ```snippet exec="on" html="on"
        ch01/03_draws.py
        ```

        ```snippet exec="on" result="mermaid"
        ch01/04_graph.py
        ```

        ```kernel exec="on"
        SCALE
        gelu
        ```

        ```kernel exec="on"
        gelu_trap
        ```

        ```standalone exec="on"
        ch01
        ```
        """,
}


@dataclass(frozen=True)
class Built:
    """A finished build."""

    code: int
    log: str
    site: Path

    @property
    def page(self) -> str:
        return (self.site / "index.html").read_text(encoding="utf-8")

    @property
    def blocks(self) -> list[str]:
        """The code blocks of the page, as a reader sees them."""
        found = re.findall(r"<pre.*?</pre>", self.page, re.DOTALL)
        return [html.unescape(re.sub("<[^>]*>", "", it)) for it in found]


def build(root: Path, *options: str) -> Built:
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", *options],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    return Built(done.returncode, done.stdout, root / "site")


@pytest.fixture(scope="module")
def right(
    tmp_path_factory: pytest.TempPathFactory, make_project: MakeProject
) -> Built:
    root = make_project(tmp_path_factory.mktemp("right"), RIGHT)
    built = build(root)
    assert built.code == 0, built.log
    return built


def test_the_outputs_of_the_runs_are_on_the_page(right: Built) -> None:
    for output in (
        "ratio: 6422.1053752336\nless: 1 < 2\n",
        "ratio: 6000.5\n",
        "begun: yes\n",
        "graph LR; a --> b\n",
    ):
        assert right.blocks.count(output) == 1, right.blocks
    assert "<svg><title>drawn</title></svg>" in right.page


def test_where_an_output_comes_from_is_told(right: Built) -> None:
    page = right.page
    assert "exactly these sources by Triton's interpreter" in page
    assert "Recorded on an NVIDIA H200 · driver 570.1" in page
    assert "commit abc1234 · 2026-01-01" in page
    assert "Recorded for an earlier version of this" in page
    assert "<strong>Exit code 139 (SIGSEGV)</strong>" in page
    assert [*re.findall(r"<label[^>]*>([^<]+)</label>", page)] == [
        "Interpreter",
        "H200",
    ]


def test_sources_are_shown_without_their_settings(right: Built) -> None:
    gelu = next(it for it in right.blocks if "from triton_grad" in it)
    assert gelu.startswith("'''Gelu.'''\n\nfrom triton_grad.gelu import")
    assert "bookpress" not in gelu
    assert "snippets/ch01/01_gelu.py" in right.page
    assert "SCALE = 2\n\n\ndef gelu(x):\n    return SCALE * x\n" in (
        right.blocks
    )


def test_what_is_wrong_on_purpose_has_a_badge(right: Built) -> None:
    badges = re.findall(r'data-fails="([^"]+)">([^<]+)<', right.page)
    assert badges == [
        ("crash", "Wrong on purpose: crash"),
        ("wrong number", "Wrong on purpose: wrong number"),
    ]


def test_the_complete_program_is_shown_with_its_output(right: Built) -> None:
    program = right.site / "standalone" / "ch01.py"
    assert program.read_text() in right.blocks
    output = next(it for it in right.blocks if it.startswith("--- 01_gelu"))
    assert "left out: It ends the process." in output
    assert "ch01.py, " in right.page


def test_values_and_formulas_are_in_the_prose(right: Built) -> None:
    text = " ".join(re.sub("<[^>]*>", "", right.page).split())
    assert "is 6422, on a GPU 6000.5 (earlier version)." in text
    assert 'title="ch01/01_gelu: ratio">6422</span>' in right.page
    assert "<math" in right.page


def test_every_file_that_is_linked_is_served(right: Built) -> None:
    links = re.findall(r'<a href="([^"]+)" download>', right.page)
    assert sorted(set(links)) == [
        "code/snippets/ch01/01_gelu.py",
        "code/snippets/ch01/02_crash.py",
        "code/src/triton_grad/gelu.py",
        "code/src/triton_grad/trap.py",
        "standalone/ch01.py",
        "standalone/ch01/01_gelu.py",
        "standalone/ch01/02_crash.py",
    ]
    for link in links:
        assert (right.site / link).is_file(), link


def test_a_second_build_runs_nothing_unless_it_is_told(right: Built) -> None:
    assert right.log.count(" ran ") == 9  # 4 snippets, each alone, 1 chapter
    root = right.site.parent
    again = build(root)
    assert (again.code, again.log.count(" ran ")) == (0, 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BOOKPRESS_CACHE", "off")
        forced = build(root)
    assert (forced.code, forced.log.count(" ran ")) == (0, 9)


WRONG = LIBRARY | {
    "snippets/ch01/01_drifts.py": "'''D.'''\nprint('a: 2')\n",
    "snippets/ch01/01_drifts.interpreter.out": "a: 1\n",
    "snippets/ch01/02_raises.py": "'''R.'''\nraise ValueError('why not')\n",
    "snippets/ch01/03_right.py": "'''R.'''\nprint('c: 3')\n",
    "snippets/ch01/03_right.interpreter.out": "c: 3\n",
    "snippets/ch01/04_unknown_key.py": (
        "'''U.'''\n# /// script\n# [tool.bookpress]\n# time-out = 1\n# ///\n"
    ),
    "snippets/ch01/05_exits.py": "'''E.'''\nraise SystemExit(0)\n",
    "snippets/ch01/06_gpu.py": (
        "'''G.'''\n# /// script\n# [tool.bookpress]\n"
        "# devices = ['cuda']\n# ///\nprint('g: 1')\n"
    ),
    "snippets/ch01/07_head.py": "'''H.'''\nprint('h: 1')\n",
    "snippets/ch01/07_head.interpreter.out": "h: 1\n",
    "snippets/ch01/07_head.h200.out": "# gpu: NVIDIA H200\n#\nh: 1\n",
    "docs/index.md": """
        # One

        gelo and ch01/01_drifts.py stand in the prose, too.

        ```snippet exec="on" source="above" result="text"
        ch01/01_drifts.py
        ```

        ```snippet exec="on"
        ch01/03_wrong.py
        ```

        !!! note

            ```kernel exec="on"
            SCALE
            gelo
            ```

        ```standalone exec="on"
        ch02
        ```

        Here is {{ value("ch01/03_right",
        'd') }} in the prose.

        ```snippet
        ch01/03_right.py
        ```

        ```snippet exec="on"
        ch01/06_gpu.py
        ```

        ```snippet exec="on"
        ch01/07_head.py
        ```

        $x^{2$

        ```kernel exec="on"
        ```
        """,
    "docs/other.md": """
        # Other

        ```snippet exec="on"
        ch01/02_raises.py
        ```
        """,
}


@pytest.fixture(scope="module")
def wrong(
    tmp_path_factory: pytest.TempPathFactory, make_project: MakeProject
) -> Built:
    root = make_project(tmp_path_factory.mktemp("wrong"), WRONG)
    (root / "site").mkdir()
    (root / "site" / "old.html").touch()
    return build(root)


def test_a_wrong_book_fails_the_build_and_writes_no_site(
    wrong: Built,
) -> None:
    assert wrong.code == 1
    assert "Traceback" not in wrong.log.replace("    Traceback", "")
    assert list(wrong.site.iterdir()) == []
    assert not list(wrong.site.parent.rglob(".writing-*"))


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (
            "docs/index.md:5",
            "snippets/ch01/01_drifts.py: the output is not the one in "
            "snippets/ch01/01_drifts.interpreter.out:\n"
            "    --- recorded\n"
            "    +++ this run\n"
            "    @@ -1 +1 @@\n"
            "    -a: 1\n"
            "    +a: 2\n"
            "    If the new output is right: "
            "make accept SNIPPETS=ch01/01_drifts\n",
        ),
        (
            "docs/other.md:3",
            "snippets/ch01/02_raises.py: exit code 1 (raised), expected 0. "
            "It printed:\n    Traceback",
        ),
        (
            "no page shows it",
            "snippets/ch01/04_unknown_key.py: unknown key 'time-out' in "
            "[tool.bookpress]: did you mean 'timeout'?",
        ),
        (
            "no page shows it",
            "snippets/ch01/05_exits.py: it exited with code 0 before its ",
        ),
        (
            "docs/index.md:9",
            "no snippet 'ch01/03_wrong': did you mean 'ch01/03_right'?",
        ),
        (
            "docs/index.md:15",
            "src/triton_grad defines no 'gelo': did you mean 'gelu'?",
        ),
        ("docs/index.md:20", "no chapter 'ch02': did you mean 'ch01'?"),
        (
            "docs/index.md:24",
            "snippets/ch01/03_right.py (interpreter) prints no label 'd': ",
        ),
        ("docs/index.md:27", 'this snippet shows nothing: it lacks exec="on'),
        (
            "docs/index.md:31",
            "snippets/ch01/06_gpu.py: it runs on a GPU alone and nothing is "
            "recorded; there: make record SNIPPETS=ch01/06_gpu",
        ),
        (
            "docs/index.md:35",
            "snippets/ch01/07_head.h200.out: no head that tells on what it",
        ),
        ("docs/index.md", "cannot read the formula 'x^{2'"),
        ("docs/index.md:41", "no name stands in this block"),
    ],
)
def test_each_problem_has_its_place_and_its_way_out(
    wrong: Built, place: str, message: str
) -> None:
    assert f"\n\n{place}\n  {message}" in wrong.log


def test_all_problems_are_counted(wrong: Built) -> None:
    assert "13 problems in the book" in wrong.log


def test_a_quiet_build_fails_as_loudly(wrong: Built) -> None:
    quiet = build(wrong.site.parent, "-q")
    assert quiet.code == 1
    assert "13 problems in the book" in quiet.log
    assert "    -a: 1\n    +a: 2\n" in quiet.log
    assert list(quiet.site.iterdir()) == []


MACROS = LIBRARY | {
    "docs/index.md": """
        ---
        title: One
        ---

        # One

        It is {{ vlaue("ch01/01_a", "a") }}.
        """,
    "docs/b.md": """
        # B

        One line, and then {{ value("ch01/01_a", "a",
        devise="h200") }}.
        """,
    "docs/c.md": "# C\n\nIt is {{ value('ch01/01_a', 'a' }}.\n",
    "docs/d.md": "# D\n\n```standalone exec=on\n```\n",
}


def test_every_mistake_in_a_macro_fails_the_build_at_its_line(
    root: Path, make_project: MakeProject
) -> None:
    make_project(root, MACROS)
    built = build(root, "-q")
    assert built.code == 1
    assert "4 problems in the book" in built.log
    for problem in (
        "docs/index.md:7\n  _UndefinedError_: 'vlaue' is undefined\n",
        "docs/b.md:3\n  _TypeError_: value() got an unexpected keyword "
        "argument 'devise'\n",
        "docs/c.md:3\n  _Line 3 in Markdown file:_ **unexpected '}'",
        "docs/d.md:3\n  cannot read 'exec=on'",
    ):
        assert f"\n\n{problem}" in built.log
    assert not built.site.exists()


def test_a_quiet_build_is_as_strict(
    root: Path, make_project: MakeProject
) -> None:
    make_project(root, LIBRARY | {"docs/index.md": "# A\n\n[x](nope.md)\n"})
    built = build(root, "-q", "--strict")
    assert built.code == 1
    assert "'nope.md', but the target is not found" in built.log


def test_a_server_shows_what_drifts_and_lives_on(
    root: Path,
    make_project: MakeProject,
    tmp_path: Path,
    eventually: Callable[..., None],
) -> None:
    page = '# One\n\n```snippet exec="on"\nch01/01_drifts.py\n```\n'
    drifts = {k: v for k, v in WRONG.items() if "01_drifts" in k}
    make_project(root, LIBRARY | drifts | {"docs/index.md": page})
    log = tmp_path / "log"
    with socket.socket() as free, log.open("w") as stream:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        free.close()
        server = subprocess.Popen(
            [sys.executable, "-m", "mkdocs", "serve", "-a", address],
            cwd=root,
            stdout=stream,
            stderr=subprocess.STDOUT,
        )
    try:
        eventually(lambda: "Serving on" in log.read_text())
        assert (
            "docs/index.md:3\n  snippets/ch01/01_drifts.py: the output"
            in (log.read_text())
        )
        with urllib.request.urlopen(f"http://{address}/") as answer:
            assert "a: 2\n" in answer.read().decode()
        (root / "docs/index.md").write_text("# Two\n\n{{ vlaue() }}\n")
        eventually(lambda: "'vlaue' is undefined" in log.read_text())
        eventually(lambda: "Reloading browsers" in log.read_text())
    finally:
        server.terminate()
        server.wait()


def test_a_kernel_that_changes_fails_the_build(
    root: Path, make_project: MakeProject
) -> None:
    """The whole chain: kernel, snippet, page."""
    kernel = RIGHT["src/triton_grad/gelu.py"].replace(
        "SCALE = 2", "SCALE = 3"
    )
    make_project(root, RIGHT | {"src/triton_grad/gelu.py": kernel})
    built = build(root, "-q")
    assert built.code == 1
    assert "docs/index.md:8\n  snippets/ch01/01_gelu.py: " in built.log
    assert "    -ratio: 6422.1\n    +ratio: 9633.1" in built.log
    assert "make accept SNIPPETS=ch01/01_gelu" in built.log
    assert not built.site.exists()


def test_a_server_that_cannot_start_is_an_error_without_traceback(
    root: Path,
    make_project: MakeProject,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_project(root, RIGHT)
    (tmp_path / "torch.py").write_text("raise SystemExit('no torch here')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    built = build(root)
    assert built.code == 1
    assert "no torch here" in built.log
    assert "the server that runs the snippets has ended" in built.log
    assert "Traceback" not in built.log


def test_ctrl_c_ends_the_build_at_once(
    interrupt: Callable[..., tuple[int, str, float]],
    processes: Callable[[], list[int]],
    root: Path,
    make_project: MakeProject,
) -> None:
    make_project(root, LIBRARY | {"docs/index.md": "# One\n"})
    code, output, seconds = interrupt("mkdocs", "build", number=signal.SIGINT)
    assert code == 1
    assert "Traceback" not in output
    assert seconds < 2
    assert processes() == []
    assert not (root / "site").exists()
