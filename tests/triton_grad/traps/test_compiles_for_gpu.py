"""Every trap's kernels, and the mended ones, through the real compiler.

A trap that a GPU refused for another reason would show nothing there.
"""

import subprocess
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType

from triton_grad.testing.museum import EXHIBITS

RunPython = Callable[..., subprocess.CompletedProcess[str]]

# Runs where the interpreter is off. It is given `folder` and `names`.
COMPILE = """
import sys
from importlib import import_module

import triton
from triton import JITFunction
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.autotuner import Autotuner

# What is added to by several programs is wide, whatever they add.
SUMS = ("add_bias_backward_kernel_no_atomic.grad_bias_ptr",
        "row_sum_kernel_no_reset_to_zero.y_ptr")
TYPES = {"BLOCK": "constexpr", "eps": "fp32", "factor": "fp32"}

def type_of(kernel, name, dtype):
    if f"{kernel.__name__}.{name}" in SUMS and dtype == "fp16":
        return "*fp32"
    return "*" + dtype if name.endswith("_ptr") else TYPES.get(name, "i32")

def kernels_in(module):
    for it in vars(module).values():
        kernel = it.fn if isinstance(it, Autotuner) else it
        own = getattr(kernel, "__module__", "") == module.__name__
        if own and isinstance(kernel, JITFunction):
            yield kernel

sys.path.insert(0, folder)
for name in names:
    for kernel in kernels_in(import_module(name)):
        for dtype in ("fp16", "fp64"):
            types = {it: type_of(kernel, it, dtype)
                     for it in kernel.arg_names}
            source = ASTSource(kernel, types, constexprs={"BLOCK": 64})
            try:
                triton.compile(source, target=GPUTarget("cuda", 90, 32))
            except triton.CompilationError:
                print("refused:", name.rpartition(".")[2], dtype)
            else:
                print("compiled:", name.rpartition(".")[2], dtype)
"""


def test_each_trap_and_each_fix_compiles(
    fixed_source: Callable[[ModuleType], str],
    run_python: RunPython,
    tmp_path: Path,
) -> None:
    names = []
    for exhibit in EXHIBITS:
        name = f"triton_grad.traps.{exhibit.name}"
        mended = fixed_source(import_module(name))
        (tmp_path / f"mended_{exhibit.name}.py").write_text(mended)
        names += [name, f"mended_{exhibit.name}"]
    given = f"folder, names = {str(tmp_path)!r}, {names!r}\n"
    result = run_python(given + COMPILE, interpret="0")
    assert result.returncode == 0, result.stderr[-3000:]
    lines = result.stdout.splitlines()
    refused = [line for line in lines if line.startswith("refused")]
    assert refused == ["refused: gelu_forward_kernel_no_upcast fp16"]
    for exhibit in EXHIBITS:
        if "_kernel_" in exhibit.name:
            assert f"compiled: mended_{exhibit.name} fp16" in lines
            assert f"compiled: {exhibit.name} fp64" in lines
