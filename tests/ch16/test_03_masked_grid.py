"""A grid of masked programs covers every element, and none but those."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.launch import launch_programs
from triton_grad.ops.gelu_erf import (
    gelu_backward_kernel,
    triton_gelu_backward,
    triton_gelu_forward,
)
from triton_grad.oracle import gelu_backward_oracle, gelu_oracle

Pair = Callable[[int], tuple[Tensor, Tensor]]
AssertTrue = Callable[[Tensor, Tensor], None]


class Recorder:
    """Stands in for a kernel and keeps what it was launched with."""

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
        self.grid = grid
        return self.launched

    def launched(self, *arguments: Any, BLOCK: int, **_: int) -> None:
        self.n, self.block = arguments[-1], BLOCK


def test_ten_programs_for_ten_thousand_elements() -> None:
    kernel: Any = Recorder()
    launch_programs(kernel, torch.empty(10000, device=DEVICE), BLOCK=1024)
    assert (kernel.grid, kernel.n, kernel.block) == ((10,), 10000, 1024)


@pytest.mark.parametrize("n", [1, 784, 1023, 1024, 1025, 10000])
def test_both_directions_are_true_at_any_size(
    pair: Pair, assert_true: AssertTrue, n: int
) -> None:
    x, grad_output = pair(n)
    assert_true(triton_gelu_forward(x, 1024), gelu_oracle(x))
    assert_true(
        triton_gelu_backward(grad_output, x, 1024),
        gelu_backward_oracle(grad_output, x),
    )


def test_the_last_program_writes_784_elements(pair: Pair) -> None:
    x, grad_output = pair(10000)
    buffer = torch.full((10 * 1024,), torch.nan, device=DEVICE)
    launch_programs(
        gelu_backward_kernel, grad_output, x, buffer[:10000], BLOCK=1024
    )
    written = ~buffer[9 * 1024 :].isnan()
    assert written.sum() == 784
    assert written[:784].all()
