"""Every trap's file has one form, which the book's pages read."""

from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import triton_grad.traps

FIELDS = ["Fails", "Symptom", "Cause", "Caught by", "Missed by"]
HOME = Path(str(triton_grad.traps.__file__)).parent
NAMES = sorted(path.stem for path in HOME.glob("[a-z]*.py"))


@pytest.fixture(params=NAMES)
def trap(request: pytest.FixtureRequest) -> ModuleType:
    return import_module(f"triton_grad.traps.{request.param}")


def test_the_docstring_has_every_field_once(trap: ModuleType) -> None:
    lines = (trap.__doc__ or "").splitlines()
    assert lines[0].endswith(".")
    fields = [line.partition(": ") for line in lines[2:7]]
    assert [field[0] for field in fields] == FIELDS
    assert all(field[2] for field in fields)
    assert fields[0][2] in ("wrong number", "crash", "refuses")


def test_the_file_is_named_after_what_is_wrong(trap: ModuleType) -> None:
    def letters(name: str) -> str:
        return name.replace("_", "").lower()

    file_name = trap.__name__.rpartition(".")[2]
    assert letters(file_name) in map(letters, vars(trap))
