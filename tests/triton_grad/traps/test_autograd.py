"""Tensors that are not the Function's to change, or to keep unguarded."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from triton_grad.ops.gelu import gelu
from triton_grad.oracle import gelu_backward_oracle
from triton_grad.traps.triton_gelu_saves_on_ctx import TritonGELUSavesOnCtx
from triton_grad.traps.triton_scale_overwrites_x import (
    TritonScaleOverwritesX,
)
from triton_grad.traps.triton_square_writes_into_saved import (
    TritonSquareWritesIntoSaved,
)

AssertRight = Callable[[Tensor, Tensor], None]
Draw = Callable[..., Tensor]


def test_a_change_of_the_input_changes_the_gradient(
    draw: Draw, assert_right: AssertRight
) -> None:
    """PyTorch refuses it where the input was saved as it should be."""
    x = draw(20, seed=1).requires_grad_()
    grad_output = draw(20, seed=2)
    values = x.detach() * 1.0
    right = gelu(x)
    wrong = TritonGELUSavesOnCtx.apply(x)
    with torch.no_grad():
        x.mul_(2.0)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        torch.autograd.grad(right, x, grad_output)
    (dx,) = torch.autograd.grad(wrong, x, grad_output)
    assert_right(dx, gelu_backward_oracle(grad_output, 2.0 * values))


def test_the_input_is_overwritten_if_it_is_contiguous(draw: Draw) -> None:
    x = draw(4, 6, seed=1)
    before = x.clone()
    y = TritonScaleOverwritesX.apply(x.t(), 0.5)
    assert torch.equal(y, 0.5 * before.t())
    assert torch.equal(x, before)
    y = TritonScaleOverwritesX.apply(x, 0.5)
    assert torch.equal(y, 0.5 * before)
    assert torch.equal(x, y)


def test_the_second_backward_is_wrong(draw: Draw) -> None:
    x = draw(20, seed=1).requires_grad_()
    grad_output = draw(20, seed=2)
    y = TritonSquareWritesIntoSaved.apply(x)
    (first,) = torch.autograd.grad(y, x, grad_output, retain_graph=True)
    right = first.clone()
    (second,) = torch.autograd.grad(y, x, grad_output)
    torch.testing.assert_close(right, 2.0 * grad_output * x.detach())
    torch.testing.assert_close(second, grad_output * right)
