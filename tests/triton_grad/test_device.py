"""Importing the package sets up the device, and only what is asked for."""

import ast
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import triton_grad
from triton_grad.device import DEVICE

RunPython = Callable[..., subprocess.CompletedProcess[str]]

no_gpu = pytest.mark.skipif(
    torch.cuda.is_available(), reason="about machines without a GPU"
)


@no_gpu
def test_without_a_gpu_the_interpreter_is_on(run_python: RunPython) -> None:
    result = run_python(
        "import torch\n"
        "from triton_grad import DEVICE, gelu\n"
        "print(DEVICE, gelu(torch.tensor([1.0])).item())"
    )
    assert result.stdout.startswith("cpu 0.8413"), result.stderr


@no_gpu
def test_without_the_interpreter_a_cpu_tensor_is_refused(
    run_python: RunPython,
) -> None:
    result = run_python(
        "import torch\n"
        "from triton_grad import DEVICE, gelu\n"
        "print(DEVICE)\n"
        "gelu(torch.tensor([1.0]))",
        interpret="0",
    )
    assert result.stdout == "cpu\n"
    assert result.stderr.rstrip().endswith(
        "RuntimeError: gelu() needs a CUDA tensor, got one on cpu; to run on"
        " the CPU set TRITON_INTERPRET=1 before triton_grad is imported"
    )


def test_the_interpreter_is_on_for_the_words_triton_knows(
    run_python: RunPython,
) -> None:
    on = ["1", "true", "True", "ON", "yes", "y"]
    off = ["0", "false", "off", "no", "n", "t", "2", ""]
    result = run_python(
        "import importlib, os, triton\n"
        "import triton_grad.device as device\n"
        f"for word in {on + off}:\n"
        "    os.environ['TRITON_INTERPRET'] = word\n"
        "    importlib.reload(device)\n"
        "    triton_knows = triton.knobs.runtime.interpret\n"
        "    print(device.INTERPRETED, triton_knows)"
    )
    expected = ["True True"] * len(on) + ["False False"] * len(off)
    assert result.stdout.splitlines() == expected, result.stderr


@no_gpu
@pytest.mark.parametrize(
    ("imports", "that_run"),
    [
        ("triton_grad, triton, kernels", ["plain", "calls_cdiv"]),
        ("triton, triton_grad, kernels", ["plain"]),
        ("triton, kernels, triton_grad", []),
    ],
)
def test_what_must_be_imported_before_what(
    run_python: RunPython, tmp_path: Path, imports: str, that_run: list[str]
) -> None:
    (tmp_path / "kernels.py").write_text(
        "import triton, triton.language as tl\n"
        "@triton.jit\n"
        "def plain(x_ptr):\n"
        "    tl.store(x_ptr, tl.exp(1.0))\n"
        "@triton.jit\n"
        "def calls_cdiv(x_ptr):\n"
        "    tl.store(x_ptr, tl.cdiv(1, 2))\n"
    )
    result = run_python(
        f"import sys; sys.path.append({str(tmp_path)!r})\n"
        f"import {imports}, torch\n"
        "for name in ('plain', 'calls_cdiv'):\n"
        "    try:\n"
        "        getattr(kernels, name)[(1,)](torch.zeros(1))\n"
        "        print(name)\n"
        "    except Exception as error:\n"
        "        print(error, file=sys.stderr)"
    )
    assert result.stdout.split() == that_run, result.stderr
    assert result.returncode == 0, result.stderr


@no_gpu
def test_these_tests_do_not_depend_on_what_a_user_has_set() -> None:
    """A whole pytest of its own, for one test that runs a kernel."""
    test = "tests/triton_grad/test_graph.py::test_a_chain"
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", test],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "TRITON_INTERPRET": "0"},
        capture_output=True,
        text=True,
    )
    assert "1 passed" in result.stdout


def test_one_op_does_not_import_the_others(run_python: RunPython) -> None:
    result = run_python(
        "import sys, triton_grad\n"
        "print('triton' in sys.modules)\n"
        "triton_grad.gelu\n"
        "print('triton_grad.ops.gelu' in sys.modules)\n"
        "print('triton_grad.ops.square' in sys.modules)"
    )
    assert result.stdout.split() == ["False", "True", "False"], result.stderr


def names_in_stub() -> list[str]:
    stub = Path(str(triton_grad.__file__)).with_suffix(".pyi").read_text()
    return sorted(
        name.name
        for statement in ast.parse(stub).body
        if isinstance(statement, ast.ImportFrom)
        for name in statement.names
    )


def test_every_export_exists_and_has_a_type() -> None:
    assert names_in_stub() == dir(triton_grad)
    assert all(hasattr(triton_grad, name) for name in names_in_stub())


def test_a_star_imports_every_export(run_python: RunPython) -> None:
    result = run_python(
        "from triton_grad import *\n"
        "print(*(name for name in dir() if name[0] != '_'))"
    )
    assert result.stdout.split() == names_in_stub(), result.stderr


def test_an_unknown_export_is_named() -> None:
    with pytest.raises(AttributeError, match="no attribute 'gleu'"):
        getattr(triton_grad, "gleu")  # noqa: B009


def test_the_device_can_hold_a_tensor() -> None:
    assert torch.empty(1, device=DEVICE).device.type == DEVICE
