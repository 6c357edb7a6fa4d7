"""A missing mask leaves its own result right and ruins the neighbour."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.launch import launch_programs
from triton_grad.ops.gelu_erf import gelu_backward_kernel
from triton_grad.oracle import gelu_backward_oracle
from triton_grad.traps.gelu_backward_kernel_no_mask import (
    gelu_backward_kernel_no_mask,
)

Pair = Callable[[int], tuple[Tensor, Tensor]]


@pytest.mark.parametrize("n", [10000, 1025, 1024])
@pytest.mark.parametrize("masked", [True, False])
def test_who_writes_behind_the_result(
    pair: Pair,
    assert_true: Callable[[Tensor, Tensor], None],
    n: int,
    masked: bool,
) -> None:
    lanes = -(-n // 1024) * 1024
    x, grad_output = (tensor[:n] for tensor in pair(lanes))
    # No gradient of these draws is as large: a changed element shows.
    memory = torch.full((lanes,), 1e6, device=DEVICE)
    kernel: Any = (
        gelu_backward_kernel if masked else gelu_backward_kernel_no_mask
    )
    launch_programs(kernel, grad_output, x, memory[:n], BLOCK=1024)
    assert_true(memory[:n], gelu_backward_oracle(grad_output, x))
    ruined = (memory[n:] != 1e6).sum().item()
    assert ruined == (0 if masked else lanes - n)
