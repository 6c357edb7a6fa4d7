"""Every trap's file has one form, and its fix makes a right op of it."""

import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import triton_grad.traps
from triton_grad.device import DEVICE
from triton_grad.testing.museum import EXHIBITS, FAMILIES, Exhibit
from triton_grad.testing.weak_tests import (
    FEW,
    arguments,
    is_float,
)

FIELDS = [
    "Fails",
    "Symptom",
    "Cause",
    "Report",
    "Caught by",
    "Missed by",
    "Fix",
]
WRONG = "  # wrong"
CLOSE = 2e-5
REPORT = r"(none found|[\w.-]+/[\w.-]+#\d+( \([\w. ]+\))?)"
HOME = Path(str(triton_grad.traps.__file__)).parent
NAMES = sorted(path.stem for path in HOME.glob("[a-z]*.py"))

every_exhibit = pytest.mark.parametrize(
    "exhibit", EXHIBITS, ids=lambda exhibit: exhibit.name
)


@pytest.fixture(params=NAMES)
def trap(request: pytest.FixtureRequest) -> ModuleType:
    return import_module(f"triton_grad.traps.{request.param}")


def fields_of(docstring: str) -> list[tuple[str, list[str]]]:
    """The fields between the first line and the next empty one."""
    fields: list[tuple[str, list[str]]] = []
    for line in docstring.split("\n\n")[1].splitlines():
        if line.startswith("    "):
            fields[-1][1].append(line[4:])
        else:
            name, _, text = line.partition(": ")
            fields.append((name, [text]))
    return fields


def test_the_docstring_has_every_field_once(trap: ModuleType) -> None:
    docstring = trap.__doc__ or ""
    assert docstring.splitlines()[0].endswith(".")
    fields = fields_of(docstring)
    assert [name for name, _ in fields] == FIELDS
    assert all(all(lines) for _, lines in fields)
    texts = {name: " ".join(lines) for name, lines in fields}
    assert texts["Fails"] in ("wrong number", "crash", "refuses")
    assert re.fullmatch(rf"{REPORT}(, {REPORT})*", texts["Report"])


def test_the_file_is_named_after_what_is_wrong(trap: ModuleType) -> None:
    def letters(name: str) -> str:
        return name.replace("_", "").lower()

    file_name = trap.__name__.rpartition(".")[2]
    assert letters(file_name) in map(letters, vars(trap))


def test_every_trap_is_an_exhibit() -> None:
    assert sorted(exhibit.name for exhibit in EXHIBITS) == NAMES
    families = [FAMILIES.index(exhibit.family) for exhibit in EXHIBITS]
    assert families == sorted(families)


@every_exhibit
def test_the_exhibit_is_the_trap_of_that_name(exhibit: Exhibit) -> None:
    function: Any = exhibit.op
    assert function.__self__.__module__.endswith(f".{exhibit.name}")


def tune_without_gpu(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Let a tuned kernel make its trials where nothing measures time."""

    def twice(trial: Callable[[], None], quantiles: object) -> list[float]:
        trial()
        trial()
        return [1.0, 1.0, 1.0]

    kernel = vars(module).get("row_sum_kernel_no_reset_to_zero")
    if kernel is not None and DEVICE == "cpu":
        monkeypatch.setitem(vars(kernel), "do_bench", twice)


@every_exhibit
def test_the_weak_test_passes_it(
    exhibit: Exhibit, monkeypatch: pytest.MonkeyPatch
) -> None:
    if DEVICE == "cuda" and exhibit.cause == "racy accumulation":
        pytest.skip("programs that run at once do meet: it is no miss there")
    function: Any = exhibit.op
    module = sys.modules[function.__self__.__module__]
    tune_without_gpu(module, monkeypatch)
    exhibit.misses(exhibit.op, exhibit.oracle, exhibit.inputs)


@every_exhibit
def test_its_inputs_are_what_it_takes(exhibit: Exhibit) -> None:
    called_with = arguments(exhibit.inputs, FEW)
    assert any(is_float(it) for it in called_with)
    truth = exhibit.oracle(*called_with)
    assert truth.requires_grad
