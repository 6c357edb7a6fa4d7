"""A trap with its marked lines replaced by its fix is right in every check.

That it is wrong without, and how, is tested in `tests/traps`.
"""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from triton_grad.device import DEVICE
from triton_grad.testing.check import check_op
from triton_grad.testing.museum import EXHIBITS, Exhibit

pytestmark = pytest.mark.skipif(
    DEVICE != "cpu", reason="a new process cannot import a mended file"
)

every_exhibit = pytest.mark.parametrize(
    "exhibit", EXHIBITS, ids=lambda exhibit: exhibit.name
)


def home_of(exhibit: Exhibit) -> ModuleType:
    function: Any = exhibit.op
    return sys.modules[function.__self__.__module__]


@pytest.fixture
def fixed(
    exhibit: Exhibit,
    fixed_source: Callable[[ModuleType], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., Any]:
    """The exhibit's op, from the mended file."""
    name = f"mended_{exhibit.name}"
    path = tmp_path / f"{name}.py"
    path.write_text(fixed_source(home_of(exhibit)))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    function: Any = exhibit.op
    return getattr(module, function.__self__.__name__).apply


@every_exhibit
def test_the_fix_makes_it_right(
    exhibit: Exhibit, fixed: Callable[..., Any]
) -> None:
    report = check_op(
        fixed, exhibit.oracle, exhibit.inputs, **exhibit.options
    )
    report.assert_right()
