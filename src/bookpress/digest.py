"""The key of a run: all that its output depends on, hashed."""

import hashlib
import json
import os
import platform
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from bookpress import landlock, worker
from bookpress.errors import PressError
from bookpress.snippet import SCRIPT_BLOCK, without_metadata
from bookpress.sources import first_party_files, read_text

# What these variables say can change what a kernel computes.
MATTERS = (
    "ATEN_",
    "CUDA_",
    "MKL_",
    "OMP_",
    "PYTHON",
    "PYTORCH_",
    "TORCH",
    "TRITON_",
)

# Not to be set from outside: a run must not depend on who started it.
FIXED = {
    "COLUMNS": "78",
    "NO_COLOR": "1",
    "OMP_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONUTF8": "1",
}


def environment(device: str) -> dict[str, str]:
    """The environment in which snippets run.

    Python's own variables change what a program does, down to whether an
    assert is run: none gets through but the one for what is imported.
    """
    result = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PYTHON") or name == "PYTHONPATH"
    }
    result |= FIXED
    result.pop("TRITON_INTERPRET", None)
    if device == "interpreter":
        result["TRITON_INTERPRET"] = "1"
        result["CUDA_VISIBLE_DEVICES"] = ""
    return result


@cache
def versions() -> Mapping[str, str]:
    """The versions a run depends on.

    Raises:
        PressError: torch or triton is missing.
    """
    found = {"python": platform.python_version()}
    for name in ("torch", "triton", "numpy"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            if name == "numpy":  # a GPU does without
                continue
            raise PressError(
                f"{name} is not installed for {sys.executable}; "
                "`make site` makes a Python that has it: .venv/bin/python"
            ) from None
    return found


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def sources_digest(path: Path, root: Path) -> str:
    """Hash of a file and of every first-party file that it imports.

    A snippet's metadata does not count: it says what is expected, not what
    is printed, and whoever writes it may have no GPU to record on again.
    """
    files = first_party_files(path, root)
    return _hash_files(files, root, without_metadata)


def _blanked(source: str) -> str:
    """Without metadata, whose lines stay: a traceback has their numbers."""
    return SCRIPT_BLOCK.sub(lambda it: "\n" * it[0].count("\n"), source)


def _hash_files(
    files: Iterable[Path], root: Path, simplified: Callable[[str], str]
) -> str:
    parts = []
    for file in files:
        name = file.relative_to(root).as_posix()
        parts += [name, simplified(read_text(file, root))]
    return _hash(*parts)


@cache
def _press_source() -> str:
    files = (worker.__file__, landlock.__file__)
    return "".join(Path(file).read_text("utf-8") for file in files)


def run_digest(
    path: Path,
    root: Path,
    device: str,
    hardware: Mapping[str, str],
    timeout: float,
    alone: bool,
) -> str:
    """Key under which the run of a file is kept.

    Args:
        path: The file that is run, below root.
        root: The project.
        device: "interpreter" or "cuda".
        hardware: What the device is, as far as an output depends on it.
        timeout: Seconds after which the run is ended.
        alone: The file can import nothing first-party.
    """
    files = [path] if alone else first_party_files(path, root)
    setting = {
        name: value
        for name, value in environment(device).items()
        if name.startswith(MATTERS) or name in FIXED
    }
    return _hash(
        _hash_files(files, root, _blanked),
        json.dumps(versions()),
        device,
        json.dumps(dict(hardware)),
        platform.machine(),
        json.dumps(setting, sort_keys=True),
        str(timeout),
        _press_source(),
    )
