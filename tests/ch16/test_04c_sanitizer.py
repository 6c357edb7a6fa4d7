"""What the sanitizer must find: each tensor is passed by 240 lanes."""

import signal
from collections.abc import Callable

import pytest

from triton_grad.device import DEVICE

CODE = """
import torch
from triton_grad.launch import launch_programs
from triton_grad.testing.guard_pages import guarded
from triton_grad.traps.gelu_backward_kernel_no_mask import (
    gelu_backward_kernel_no_mask,
)
# Memory behind each tensor, in elements, before a forbidden page comes.
behind = dict(grad_output=240, x=240, grad_input=240)
behind.update({behind})
grad_output, x, grad_input = (
    guarded(torch.ones(10000 + more))[:10000] for more in behind.values()
)
launch_programs(
    gelu_backward_kernel_no_mask, grad_output, x, grad_input, BLOCK=1024
)
print("survived")
"""

pytestmark = pytest.mark.skipif(
    DEVICE != "cpu", reason="guard pages are for CPU memory"
)
Ending = Callable[[str], tuple[int, str]]


@pytest.mark.parametrize("name", ["grad_output", "x", "grad_input"])
def test_one_element_less_behind_any_of_them_is_fatal(
    ending: Ending, name: str
) -> None:
    code = CODE.format(behind=f"{name}=239")
    assert ending(code) == (-signal.SIGSEGV, "")


def test_240_elements_behind_all_are_enough(ending: Ending) -> None:
    assert ending(CODE.format(behind="")) == (0, "survived\n")
