"""Caught by a sibling branch, missed by sum().backward() and gradcheck."""

from collections.abc import Callable

import torch
from torch import Tensor

from triton_grad.ops.gelu import gelu
from triton_grad.oracle import gelu_backward_oracle
from triton_grad.traps.triton_gelu_overwrites_grad_output import (
    TritonGELUOverwritesGradOutput,
)

AssertRight = Callable[[Tensor, Tensor], None]
Draw = Callable[..., Tensor]


def gradients(
    function: Callable[[Tensor], Tensor], draw: Draw
) -> tuple[Tensor, ...]:
    """Of (3u + f(x)) weighted: the branch 3u is older, so it runs last."""
    u = draw(50, seed=1).requires_grad_()
    x = draw(50, seed=2).requires_grad_()
    y = 3.0 * u + function(x)
    return torch.autograd.grad(y, (u, x), draw(50, seed=3).mul(1.0))


def test_a_sibling_branch_catches_it(draw: Draw) -> None:
    right_u, right_x = gradients(gelu, draw)
    wrong_u, own_x = gradients(TritonGELUOverwritesGradOutput.apply, draw)
    torch.testing.assert_close(own_x, right_x)
    assert torch.equal(wrong_u, 3.0 * own_x)
    assert not torch.allclose(wrong_u, right_u)


def test_comparing_grad_output_catches_it(draw: Draw) -> None:
    x, grad_output = draw(50, seed=1).requires_grad_(), draw(50, seed=2)
    before, version = grad_output.clone(), grad_output._version
    y = TritonGELUOverwritesGradOutput.apply(x)
    torch.autograd.grad(y, x, grad_output)
    assert not torch.equal(grad_output, before)
    assert grad_output._version == version


def test_sum_misses_it(draw: Draw, assert_right: AssertRight) -> None:
    u = draw(50, seed=1).requires_grad_()
    x = draw(50, seed=2).requires_grad_()
    y = 3.0 * u + TritonGELUOverwritesGradOutput.apply(x)
    du, dx = torch.autograd.grad(y.sum(), (u, x))
    assert torch.equal(du, torch.full_like(u, 3.0))
    assert_right(dx, gelu_backward_oracle(torch.ones_like(x), x.detach()))


def test_layouts_miss_it(draw: Draw, assert_right: AssertRight) -> None:
    """It is wrong in one thing only."""
    x = draw(6, 4, seed=1).t().requires_grad_()
    grad_output = draw(4, 6, seed=2)
    y = TritonGELUOverwritesGradOutput.apply(x)
    (dx,) = torch.autograd.grad(y, x, grad_output.clone())
    assert_right(dx, gelu_backward_oracle(grad_output, x.detach()))


def test_gradcheck_misses_it(draw: Draw) -> None:
    x = draw(5, seed=1, dtype=torch.float64).requires_grad_()
    function = TritonGELUOverwritesGradOutput.apply
    assert torch.autograd.gradcheck(function, x)
