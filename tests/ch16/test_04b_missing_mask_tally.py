"""How an unmasked run ends is decided by what lies behind its tensors."""

import signal
from collections.abc import Callable

import pytest

from triton_grad.device import DEVICE

CODE = """
import torch
from triton_grad.launch import launch_programs
from triton_grad.oracle import gelu_backward_oracle
from triton_grad.testing.guard_pages import guarded
from triton_grad.traps.gelu_backward_kernel_no_mask import (
    gelu_backward_kernel_no_mask,
)
torch.manual_seed(5)
x, grad_output, grad_input = (
    guarded(torch.randn(10000 + {behind}))[:10000] for _ in range(3)
)
launch_programs(
    gelu_backward_kernel_no_mask, grad_output, x, grad_input, BLOCK=1024
)
truth = gelu_backward_oracle(grad_output, x)
print("right:", bool((grad_input - truth).abs().max() < 1e-6))
"""

pytestmark = pytest.mark.skipif(
    DEVICE != "cpu", reason="guard pages are for CPU memory"
)
Ending = Callable[[str], tuple[int, str]]


def test_memory_that_may_be_used_gives_no_sign_at_all(ending: Ending) -> None:
    assert ending(CODE.format(behind=240)) == (0, "right: True\n")


def test_forbidden_memory_ends_the_same_run(ending: Ending) -> None:
    assert ending(CODE.format(behind=0)) == (-signal.SIGSEGV, "")
