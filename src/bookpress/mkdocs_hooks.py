"""The press in MkDocs: fences, values, files. Thin: MkDocs only renders."""

import logging
import re
import sys
from pathlib import Path
from typing import Any

import markdown_exec
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url

from bookpress.book import Book, Problem
from bookpress.errors import PressError
from bookpress.fences import Fences
from bookpress.maths import render_maths
from bookpress.pages import LANGUAGES
from bookpress.press import Proof, cache_wanted, device_wanted

MACRO_ERROR = re.compile(r"# _Macro \w+ Error_\n\n.*\n\n(?P<what>.*)")
MACRO_LINE = re.compile(r'(?:^_Line |"<template>", line )(\d+)', re.MULTILINE)

log = logging.getLogger("mkdocs.plugins.bookpress")


class Build:
    """The build that is under way."""

    book: Book
    fences: Fences
    page: Page
    serving = False


def on_startup(command: str, **_: Any) -> None:
    Build.serving = command == "serve"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    # Strict mode counts what is logged: with -q it would count nothing.
    logger = logging.getLogger("mkdocs")
    logger.setLevel(min(logging.WARNING, logger.level))
    root = Path(config.config_file_path).parent
    config.watch += [str(root / "snippets"), str(root / "src")]
    config.plugins["macros"].register_macros(  # type: ignore[attr-defined]
        {"value": value, "measured": measured}
    )
    superfences = config.mdx_configs["pymdownx.superfences"]
    for language in LANGUAGES:
        superfences["custom_fences"].append(
            {
                "name": language,
                "class": language,
                "validator": markdown_exec.validator,
                "format": markdown_exec.formatter,
            }
        )
    return config


def on_pre_build(config: MkDocsConfig) -> None:
    root = Path(config.config_file_path).parent
    try:
        device = device_wanted()
        Build.book = Book(root, _report, cache_wanted(), device)
    except (PressError, ChildProcessError) as error:
        raise PluginError(str(error)) from error
    Build.fences = Fences(Build.book, _place, _link)
    markdown_exec.formatters.update(Build.fences.formatters())


def _report(proof: Proof) -> None:
    if not proof.cached and proof.run:
        log.info(f"ran {proof.name} in {proof.run.seconds:.2f} s")


def _place(pattern: str) -> str:
    """`page:line` of a match on the page that is being rendered."""
    path = Path(Build.page.file.abs_src_path or "")
    where = path.relative_to(Build.book.root)
    source = path.read_text(encoding="utf-8")
    found = re.search(pattern, source)
    line = source.count("\n", 0, found.start() if found else 0) + 1
    return f"{where}:{line}"


def _link(target: str) -> str:
    return get_relative_url(target, Build.page.url)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for address, path in Build.book.served_files().items():
        files.append(File.generated(config, address, abs_src_path=str(path)))
    return files


def on_pre_page(page: Page, **_: Any) -> Page:
    Build.page = page
    return page


def value(
    snippet: str, label: str, spec: str = "", device: str = "interpreter"
) -> str:
    """A number for the prose, from a labelled line of a snippet's output."""
    return Build.fences.value(snippet, label, spec, device)


def measured(name: str, *keys: str) -> str:
    """What stands under these keys in a JSON file of bench/."""
    return Build.fences.measured(name, keys)


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """A page with a macro that fails is replaced by the plugin's message."""
    if error := MACRO_ERROR.match(markdown):
        line = MACRO_LINE.search(markdown)
        source = (page.markdown or "").splitlines()
        pattern = re.escape(source[int(line[1]) - 1]) if line else ""
        Build.fences.note(pattern, error["what"])
    return markdown


def on_page_content(html: str, page: Page, **_: Any) -> str:
    try:
        return render_maths(html)
    except ValueError as error:
        place = f"docs/{page.file.src_uri}"
        Build.book.problems.append(Problem(place, str(error)))
        return html


def on_env(env: Any, **_: Any) -> Any:
    """After all pages are rendered and before anything is written."""
    if problems := Build.book.verdict():
        if not Build.serving:
            raise PluginError(problems)
        # An author judges a new output on its page. Not logged, since the
        # server does not start after a warning.
        print(f"\n{problems}\n", file=sys.stderr)
    return env
