"""A gradient with stride 0 is one element, and its reader needs a copy."""

import signal
from collections.abc import Callable

import pytest

from triton_grad.device import DEVICE

CODE = """
import torch
from triton_grad.testing.guard_pages import guarded
from triton_grad.{module} import {launch}
upstream = guarded(torch.ones(1)).expand(2000)
{launch}(upstream, torch.zeros(2000))
"""

pytestmark = pytest.mark.skipif(
    DEVICE != "cpu", reason="guard pages are for CPU memory"
)


@pytest.mark.parametrize(
    ("module", "launch", "code"),
    [
        (
            "traps.triton_gelu_backward_no_contiguous",
            "triton_gelu_backward_no_contiguous",
            -signal.SIGSEGV,
        ),
        (
            "traps.triton_gelu_backward_contiguous_grad_only",
            "triton_gelu_backward_contiguous_grad_only",
            0,
        ),
        ("ops.gelu_erf", "triton_gelu_backward", 0),
    ],
)
def test_who_reads_past_the_one_element(
    ending: Callable[[str], tuple[int, str]],
    module: str,
    launch: str,
    code: int,
) -> None:
    exit_code, _ = ending(CODE.format(module=module, launch=launch))
    assert exit_code == code
