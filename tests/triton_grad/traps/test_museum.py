"""Every trap's file has one form, and its fix makes a right op of it."""

import importlib.util
import inspect
import re
import sys
from collections.abc import Callable
from importlib import import_module
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

import triton_grad.traps
from triton_grad.device import DEVICE
from triton_grad.testing.museum import EXHIBITS, FAMILIES, Exhibit
from triton_grad.testing.weak_tests import (
    FEW,
    RAGGED,
    arguments,
    assert_agrees,
    assert_gradients,
    assert_values,
    is_float,
    random_gradient,
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


def fixed_source(trap: ModuleType) -> str:
    """The trap's source with its marked lines replaced by the fix.

    Each of several marked lines stands for one of the fix; a single one
    stands for all of it.
    """
    fix = dict(fields_of(trap.__doc__ or ""))["Fix"]
    lines = inspect.getsource(trap).splitlines()
    marked = [i for i, line in enumerate(lines) if line.endswith(WRONG)]
    assert marked, "no line is marked as wrong"
    parts = [fix] if len(marked) == 1 else [[line] for line in fix]
    for i, part in zip(marked, parts, strict=True):
        indent = re.match(" *", lines[i])
        assert indent is not None
        lines[i] = "\n".join(indent[0] + line for line in part)
    return "\n".join(lines) + "\n"


@pytest.fixture
def fixed(
    exhibit: Exhibit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Tensor]:
    """The exhibit's op, from the mended file."""
    function: Any = exhibit.op
    trap = sys.modules[function.__self__.__module__]
    name = f"mended_{exhibit.name}"
    path = tmp_path / f"{name}.py"
    path.write_text(fixed_source(trap))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    tune_without_gpu(module, monkeypatch)
    return getattr(module, function.__self__.__name__).apply


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


def laid_out(values: Tensor, layout: str) -> Tensor:
    """The values of a matrix, in order or not, among others or not."""
    rows, cols = values.shape
    places = {
        "in order": torch.full((rows, cols), 7.0).to(values),
        "a slice": torch.full((rows, 2 * cols), 7.0).to(values)[:, ::2],
        "some columns": torch.full((rows, cols + 3), 7.0).to(values)[
            :, :cols
        ],
        "transposed": torch.full((cols, rows), 7.0).to(values).t(),
    }
    return places[layout].copy_(values.detach()).requires_grad_()


LAYOUTS = [
    *product(["in order"], ["a slice", "some columns", "transposed"]),
    *product(["a slice", "some columns", "transposed"], ["in order"]),
    ("transposed", "transposed"),
    ("transposed", "a slice"),
]


@every_exhibit
def test_the_fix_makes_it_right(
    exhibit: Exhibit, fixed: Callable[..., Tensor]
) -> None:
    for dtype, sizes in ((torch.float32, RAGGED), (torch.float64, FEW)):
        called_with = arguments(exhibit.inputs, sizes, dtype)
        assert_agrees(fixed, exhibit.oracle, called_with, CLOSE)


@every_exhibit
def test_the_fix_makes_layouts_right(
    exhibit: Exhibit, fixed: Callable[..., Tensor]
) -> None:
    for of_x, of_gradient in LAYOUTS:
        called_with = arguments(exhibit.inputs, FEW)
        called_with[0] = laid_out(called_with[0], of_x)
        truth = assert_values(fixed, exhibit.oracle, called_with, CLOSE)
        grad_output = random_gradient(truth).float()
        if truth.dim() == 2:
            grad_output = laid_out(grad_output, of_gradient).detach()
        assert_gradients(
            fixed, exhibit.oracle, called_with, grad_output, CLOSE
        )


@every_exhibit
def test_the_fix_makes_float16_right(
    exhibit: Exhibit, fixed: Callable[..., Tensor]
) -> None:
    called_with = arguments(exhibit.inputs, RAGGED, torch.float16)
    assert_agrees(fixed, exhibit.oracle, called_with, 2e-3)


@every_exhibit
def test_the_weak_test_passes_it(
    exhibit: Exhibit, monkeypatch: pytest.MonkeyPatch
) -> None:
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
