"""Autograd sees a kernel's write only if it is told of it."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.autograd.graph import increment_version

from triton_grad.launch import launch_programs
from triton_grad.ops.square import square, square_forward_kernel
from triton_grad.oracle import square_backward_oracle


def square_in_place(h: Tensor) -> None:
    """Write h squared over h, by a kernel."""
    launch_programs(square_forward_kernel, h, h, BLOCK=256)


def test_a_kernels_write_is_not_noticed(
    x: Tensor,
    weights: Tensor,
    assert_true: Callable[[Tensor | None, Tensor], None],
) -> None:
    h = x.clone()
    z = square(h)
    square_in_place(h.detach())
    assert h._version == 0
    (dx,) = torch.autograd.grad(z, x, weights)
    leaf = x.detach()
    assert_true(dx, square_backward_oracle(weights, leaf.double() ** 2))
    truth = square_backward_oracle(weights, leaf)
    assert (dx - truth).abs().max() > 1


def test_a_write_that_is_told_is_refused(x: Tensor) -> None:
    h = x.clone()
    z = square(h)
    square_in_place(h.detach())
    increment_version(h)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        z.sum().backward()


def test_pytorch_tells_by_itself(x: Tensor) -> None:
    h = x.clone()
    z = square(h)
    h.detach().square_()
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        z.sum().backward()
