"""gradcheck finds a write into grad_output in fast mode only."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck
from torch.autograd.gradcheck import GradcheckError

from triton_grad.ops.gelu import gelu
from triton_grad.ops.square import square
from triton_grad.traps.triton_gelu_overwrites_grad_output import (
    TritonGELUOverwritesGradOutput,
)

Op = Callable[[Tensor], Tensor]


@pytest.fixture
def x64(x: Tensor) -> Tensor:
    """Few elements: finite differences launch a kernel for each."""
    return x.detach()[:4].double().requires_grad_()


def left_as_it_was(op: Op, x: Tensor, weights: Tensor) -> bool:
    grad_output = weights.clone()
    op(x).backward(grad_output)
    return torch.equal(grad_output, weights)


def test_the_default_mode_passes_the_trap(x64: Tensor) -> None:
    assert gradcheck(TritonGELUOverwritesGradOutput.apply, (x64,))


def test_the_fast_mode_does_not(x64: Tensor) -> None:
    with pytest.raises(GradcheckError, match="Backward is not reentrant"):
        gradcheck(
            TritonGELUOverwritesGradOutput.apply, (x64,), fast_mode=True
        )


def test_nor_does_a_look_at_grad_output(x: Tensor, weights: Tensor) -> None:
    trap = TritonGELUOverwritesGradOutput.apply
    assert not left_as_it_was(trap, x, weights)


@pytest.mark.parametrize("op", [gelu, square])
def test_the_library_passes_all_three(
    op: Op, x: Tensor, x64: Tensor, weights: Tensor
) -> None:
    assert gradcheck(op, (x64,))
    assert gradcheck(op, (x64,), fast_mode=True)
    assert left_as_it_was(op, x, weights)
