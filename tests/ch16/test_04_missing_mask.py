"""Before a forbidden page: masked, nothing; unmasked, the end."""

import signal
from collections.abc import Callable

import pytest

from triton_grad.device import DEVICE

CODE = """
import torch
from triton_grad.launch import launch_programs
from triton_grad.ops.gelu_erf import gelu_backward_kernel
from triton_grad.oracle import gelu_backward_oracle
from triton_grad.testing.guard_pages import guarded
from triton_grad.traps.gelu_backward_kernel_no_mask import (
    gelu_backward_kernel_no_mask,
)
torch.manual_seed(4)
x, grad_output = guarded(torch.randn({n})), guarded(torch.randn({n}))
grad_input = guarded(torch.zeros({n}))
launch_programs({kernel}, grad_output, x, grad_input, BLOCK=1024)
truth = gelu_backward_oracle(grad_output, x)
print("off by less than 1e-6:", bool((grad_input - truth).abs().max() < 1e-6))
"""

pytestmark = pytest.mark.skipif(
    DEVICE != "cpu", reason="guard pages are for CPU memory"
)
Ending = Callable[[str], tuple[int, str]]


def test_the_masked_kernel_touches_nothing_behind(ending: Ending) -> None:
    code = CODE.format(n=10000, kernel="gelu_backward_kernel")
    assert ending(code) == (0, "off by less than 1e-6: True\n")


def test_the_unmasked_kernel_ends_its_process(ending: Ending) -> None:
    code = CODE.format(n=10000, kernel="gelu_backward_kernel_no_mask")
    assert ending(code) == (-signal.SIGSEGV, "")


def test_a_size_that_fills_its_programs_hides_it(ending: Ending) -> None:
    code = CODE.format(n=10240, kernel="gelu_backward_kernel_no_mask")
    assert ending(code) == (0, "off by less than 1e-6: True\n")
