"""The fences of a page, with the lines they stand in."""

from collections.abc import Callable
from pathlib import Path

from bookpress.pages import Fence, all_fences

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
