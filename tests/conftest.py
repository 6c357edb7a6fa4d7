"""The book, proven once, and its site, built once, for all tests of them.

Tests that use these are in the group "site", so that one worker has them.
"""

import os
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from bookpress.book import Book
from bookpress.press import cache_wanted

ROOT = Path(__file__).parents[1]

# Off, as a user may have it, no kernel runs here: before any is imported.
if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"

# Some tests crash a process on purpose. Each would leave its whole memory.
_, hard_limit = resource.getrlimit(resource.RLIMIT_CORE)
resource.setrlimit(resource.RLIMIT_CORE, (0, hard_limit))


@dataclass(frozen=True)
class SiteBuild:
    """A finished build of the site."""

    folder: Path
    log: str


@pytest.fixture(scope="session")
def book() -> Book:
    """Every snippet and every program written from them, through the press.

    As in a build, BOOKPRESS_CACHE=off runs all of them anew.
    """
    return Book(ROOT, lambda proof: None, cache_wanted())


@pytest.fixture(scope="session")
def site_build(
    book: Book, tmp_path_factory: pytest.TempPathFactory
) -> SiteBuild:
    """The site, built from the runs that `book` has just made."""
    folder = tmp_path_factory.mktemp("site")
    build = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "-d", str(folder)],
        cwd=ROOT,
        env={**os.environ, "BOOKPRESS_CACHE": "on"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert build.returncode == 0, build.stdout
    return SiteBuild(folder, build.stdout)


@pytest.fixture(scope="session")
def built_site(site_build: SiteBuild) -> Path:
    return site_build.folder
