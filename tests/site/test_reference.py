"""The tests that the reference names are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reference/index.md"
FILE = re.compile(r"`((?:[\w/]+/)?test_\w+\.py)`")
FOLDERS = ("", "tests/triton_grad", "tests/triton_grad/ops")


def test_every_test_that_the_page_names_exists() -> None:
    named = FILE.findall(PAGE.read_text(encoding="utf-8"))
    assert len(named) > 10
    assert [
        name
        for name in named
        if not any((ROOT / folder / name).is_file() for folder in FOLDERS)
    ] == []
