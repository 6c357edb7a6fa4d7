"""The page of measurements: nothing on it is typed, and what it names is
there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/speed/index.md"
# The slope's zero, and what was aimed at.
CONSTANTS = {"0.75", "0.97", "1.25", "1.3"}
READ = re.compile(r"\{\{.*?\}\}|```.*?```|`[^`]*`|\$[^$]*\$", re.DOTALL)
FIGURE = re.compile(r"\d+(?:\.\d+)?\s(?:%|GB/s|µs|times)|\d+\.\d+|\d{3,}")


def typed(text: str) -> set[str]:
    """What stands in the prose and looks like a measured figure."""
    return set(FIGURE.findall(READ.sub("", text)))


def test_no_figure_is_typed() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert typed(text) <= CONSTANTS | {"100 %"}
    assert text.count("measured(") > 10
    assert text.count("```plot") > 8


def test_a_typed_figure_is_found() -> None:
    for figure in ("4242", "0.98", "97 %", "1.3 times", "20 µs", "9 GB/s"):
        assert typed(f"It reached {figure} here.") == {figure}, figure
        read = f'It reached `{figure}`, {{{{ measured("{figure}") }}}}.'
        assert typed(read) == set()


def test_what_the_page_names_is_there() -> None:
    text = PAGE.read_text(encoding="utf-8")
    scripts = set(re.findall(r"bench/\w+\.py", text))
    assert scripts == {
        "bench/speed.py",
        "bench/accuracy.py",
        "bench/fit_normal_tail.py",
    }
    modules = set(re.findall(r"`triton_grad\.(examples\.\w+)`", text))
    assert len(modules) == 2
    paths = [f"src/triton_grad/{it.replace('.', '/')}.py" for it in modules]
    paths += scripts
    missing = [it for it in paths if not (ROOT / it).is_file()]
    assert missing == []
