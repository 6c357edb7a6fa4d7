"""No kernel touches memory past a tensor's end; an unmasked one does."""

import subprocess
from collections.abc import Callable

import pytest

from triton_grad.device import DEVICE

RunPython = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.skipif(
    DEVICE != "cpu", reason="guard pages lie in the CPU's memory"
)

SEGMENTATION_FAULT = -11

LAUNCH = """
import torch
from triton_grad.launch import launch_programs
from triton_grad.testing.guard_pages import guarded

def launch(kernel, input_count, n, dtype=torch.float32):
    inputs = [guarded(torch.ones(n, dtype=dtype)) for _ in range(input_count)]
    output = guarded(torch.empty(n, dtype=dtype))
    launch_programs(kernel, *inputs, output, BLOCK=64)
"""


@pytest.mark.parametrize(
    ("module", "op"),
    [("gelu", "accurate_gelu"), ("gelu_erf", "gelu"), ("square", "square")],
)
def test_the_kernels_stay_inside(
    module: str, op: str, run_python: RunPython
) -> None:
    result = run_python(
        LAUNCH
        + f"""
from triton_grad.ops.{module} import {op}_backward_kernel, {op}_forward_kernel
for kernel, inputs in (({op}_forward_kernel, 1), ({op}_backward_kernel, 2)):
    for n in (1, 2, 63, 64, 65, 209):
        launch(kernel, inputs, n)
    launch(kernel, inputs, 65, torch.float16)
    launch(kernel, inputs, 65, torch.float64)
print("inside")
"""
    )
    assert (result.returncode, result.stdout) == (0, "inside\n")


def test_the_unmasked_kernel_faults(run_python: RunPython) -> None:
    result = run_python(
        LAUNCH
        + """
from triton_grad.traps.gelu_backward_kernel_no_mask import (
    gelu_backward_kernel_no_mask,
)
launch(gelu_backward_kernel_no_mask, 2, 64)
print("64 elements are one whole block", flush=True)
launch(gelu_backward_kernel_no_mask, 2, 63)
"""
    )
    assert result.stdout == "64 elements are one whole block\n"
    assert result.returncode == SEGMENTATION_FAULT
