"""Gradients that are another's, incomplete or missing."""

from collections.abc import Callable

import torch
from torch import Tensor

from triton_grad.testing.museum import rms_norm_reference
from triton_grad.traps.rms_norm_backward_kernel_no_statistics import (
    TritonRMSNormNoStatistics,
)
from triton_grad.traps.triton_multiply_swapped_gradients import (
    TritonMultiplySwappedGradients,
)
from triton_grad.traps.triton_scale_columns_no_weight_gradient import (
    TritonScaleColumnsNoWeightGradient,
)

Draw = Callable[..., Tensor]


def test_each_input_gets_the_gradient_of_the_other(draw: Draw) -> None:
    x, y = (draw(20, seed=seed).requires_grad_() for seed in (1, 2))
    grad_output = draw(20, seed=3)
    z = TritonMultiplySwappedGradients.apply(x, y)
    dx, dy = torch.autograd.grad(z, (x, y), grad_output)
    assert torch.equal(dx, grad_output * x)
    assert torch.equal(dy, grad_output * y)


def test_the_weight_gets_no_gradient(draw: Draw) -> None:
    x, weight = draw(4, 6, seed=1), draw(6, seed=2).requires_grad_()
    y = TritonScaleColumnsNoWeightGradient.apply(x, weight)
    assert y.requires_grad
    y.square().sum().backward()
    assert weight.grad is None


def test_the_part_through_the_norm_is_missing(draw: Draw) -> None:
    """Along x itself the norm cannot change: the gradient has to be 0."""
    x, weight = draw(4, 6, seed=1).requires_grad_(), draw(6, seed=2)
    grad_output = draw(4, 6, seed=3)
    along_x = []
    for op in (rms_norm_reference, TritonRMSNormNoStatistics.apply):
        (dx,) = torch.autograd.grad(op(x, weight, 0.0), x, grad_output)
        along_x.append((dx * x).sum(1).detach())
    right, wrong = along_x
    torch.testing.assert_close(
        right, torch.zeros_like(right), rtol=0, atol=1e-5
    )
    assert (wrong.abs() > 1e-2).all()
