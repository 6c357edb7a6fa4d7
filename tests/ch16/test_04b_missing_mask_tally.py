"""How an unmasked run ends is decided by what lies behind its tensors."""

import ctypes
import signal
from collections.abc import Callable

import pytest
import torch

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

ON_ORDINARY_TENSORS = """
import torch
from triton_grad.oracle import gelu_backward_oracle
from triton_grad.traps.gelu_backward_kernel_no_mask import (
    triton_gelu_backward_no_mask,
)
torch.manual_seed(5)
x, grad_output = torch.randn(10239), torch.randn(10239)
grad_input = triton_gelu_backward_no_mask(grad_output, x)
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


def test_one_lane_past_an_ordinary_tensor_gives_no_sign(
    ending: Ending,
) -> None:
    assert ending(ON_ORDINARY_TENSORS) == (0, "right: True\n")


@pytest.mark.parametrize(
    ("n", "reaches_the_lanes"), [(10239, True), (10000, False)]
)
def test_one_lane_fits_into_the_allocators_padding_240_do_not(
    n: int, reaches_the_lanes: bool
) -> None:
    tensor = torch.empty(n)
    usable_size = ctypes.CDLL(None).malloc_usable_size
    usable_size.argtypes = [ctypes.c_void_p]
    usable_size.restype = ctypes.c_size_t
    usable = usable_size(tensor.data_ptr())
    assert (usable >= 10240 * 4) == reaches_the_lanes
