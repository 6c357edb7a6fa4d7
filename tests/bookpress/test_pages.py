"""The fences of a page, with the lines they stand in."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bookpress.errors import PressError
from bookpress.pages import Fence, all_fences, wrong_fence

PAGE = """\
# Title

``` snippet exec="on" source="above"
ch01/01_a.py
```

!!! danger "Trap"

    ```kernel exec="on"
    one
      two
    ```

~~~~text
```
not a fence
```
~~~~

Inline code with three ticks: ```x```

```
```

```text
never closed
"""


def test_fences_are_found_with_their_places(
    root: Path, write: Callable[[str, str], Path]
) -> None:
    write("docs/chapters/01.md", PAGE)
    page = "docs/chapters/01.md"
    assert all_fences(root) == [
        Fence(
            page, 3, "snippet", 'exec="on" source="above"', ("ch01/01_a.py",)
        ),
        Fence(page, 9, "kernel", 'exec="on"', ("one", "  two")),
        Fence(page, 14, "text", "", ("```", "not a fence", "```")),
        Fence(page, 22, "", "", ()),
        Fence(page, 25, "text", "", ("never closed",)),
    ]


def test_ticks_within_a_line_open_no_fence(
    root: Path, write: Callable[[str, str], Path]
) -> None:
    write("docs/a.md", "```x``` begins this line\n\n```text\ny\n```\n")
    assert all_fences(root) == [Fence("docs/a.md", 3, "text", "", ("y",))]


def test_the_pages_come_in_order(
    root: Path, write: Callable[[str, str], Path]
) -> None:
    write("docs/b.md", "```text\n```\n")
    write("docs/a/z.md", "```text\n```\n")
    assert [f.page for f in all_fences(root)] == ["docs/a/z.md", "docs/b.md"]


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ('snippet exec="on" source="above" result="text"', None),
        ('kernel exec=\'on\' title="a = b" hl_lines="1 3"', None),
        ('standalone exec="on"', None),
        ("mermaid", None),
        ("python", None),
        ("", None),
        ('snipet exec="on"', "is called 'snipet': did you mean 'snippet'?"),
        ('{.kernel exec="on"}', "did you mean 'kernel'?"),
        ("snippet", 'this snippet shows nothing: it lacks exec="on"'),
        (
            'kernel exec="off"',
            'this kernel shows nothing: it lacks exec="on"',
        ),
        ("snippet exec=on", "cannot read 'exec=on'; an option is written "),
        ('snippet exec="on" result=”text”', "cannot read 'result=”text”'"),
        ('snippet exec="on" source', "cannot read 'source'"),
        (
            'snippet exec="on" sorce="above"',
            "unknown option 'sorce': did you mean 'source'?",
        ),
        (
            'snippet exec="on" result="mermiad"',
            "unknown result 'mermiad': did you mean 'mermaid'?",
        ),
    ],
)
def test_a_mistake_in_a_fences_first_line_is_found(
    root: Path,
    write: Callable[[str, str], Path],
    line: str,
    wrong: str | None,
) -> None:
    write("docs/a.md", f"```{line}\nch01\n```\n")
    (fence,) = all_fences(root)
    found = wrong_fence(fence)
    assert found == wrong or (wrong and wrong in (found or ""))


def test_no_fence_of_the_book_is_taken_for_a_mistake() -> None:
    found = all_fences(Path(__file__).parents[2])
    assert len(found) > 20
    assert [fence for fence in found if wrong_fence(fence)] == []


def test_a_page_that_is_not_utf_8_is_named(root: Path) -> None:
    (root / "docs/a.md").write_bytes(b"caf\xe9")
    with pytest.raises(PressError, match=r"^docs/a\.md: "):
        all_fences(root)
