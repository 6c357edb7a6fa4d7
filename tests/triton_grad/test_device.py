"""Importing the package sets up the device, and only what is asked for."""

import ast
import subprocess
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
        " the CPU set TRITON_INTERPRET=1 before triton is imported"
    )


def test_one_op_does_not_import_the_others(run_python: RunPython) -> None:
    result = run_python(
        "import sys, triton_grad\n"
        "print('triton' in sys.modules)\n"
        "triton_grad.gelu\n"
        "print('triton_grad.ops.gelu' in sys.modules)\n"
        "print('triton_grad.ops.square' in sys.modules)"
    )
    assert result.stdout.split() == ["False", "True", "False"], result.stderr


def test_every_export_exists_and_has_a_type() -> None:
    stub = Path(str(triton_grad.__file__)).with_suffix(".pyi").read_text()
    typed = [
        name.name
        for statement in ast.parse(stub).body
        if isinstance(statement, ast.ImportFrom)
        for name in statement.names
    ]
    assert sorted(typed) == dir(triton_grad)
    assert all(hasattr(triton_grad, name) for name in typed)


def test_an_unknown_export_is_named() -> None:
    with pytest.raises(AttributeError, match="no attribute 'gleu'"):
        getattr(triton_grad, "gleu")  # noqa: B009


def test_the_device_can_hold_a_tensor() -> None:
    assert torch.empty(1, device=DEVICE).device.type == DEVICE
