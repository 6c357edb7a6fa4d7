"""Missed by every comparison of values; guard pages catch it.

That they do is shown in `tests/triton_grad/test_out_of_bounds.py`.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.launch import launch_programs
from triton_grad.oracle import gelu_backward_oracle
from triton_grad.traps.gelu_backward_kernel_no_mask import (
    gelu_backward_kernel_no_mask,
)

AssertRight = Callable[[Tensor, Tensor], None]
Draw = Callable[..., Tensor]


def test_the_values_are_right_and_what_lies_behind_is_overwritten(
    draw: Draw, assert_right: AssertRight
) -> None:
    """With room behind each tensor, so that nothing here is corrupted."""
    n, block = 80, 64
    x, grad_output = draw(2 * block, seed=1), draw(2 * block, seed=2)
    memory = torch.full((2 * block,), 7.0, device=DEVICE)
    launch_programs(
        gelu_backward_kernel_no_mask,
        grad_output[:n],
        x[:n],
        memory[:n],
        BLOCK=block,
    )
    truth = gelu_backward_oracle(grad_output[:n], x[:n])
    assert_right(memory[:n], truth)
    assert (memory[n:] != 7.0).all()
