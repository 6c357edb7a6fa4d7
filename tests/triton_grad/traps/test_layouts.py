"""Rows that lie further apart, and gradients that lie otherwise."""

from collections.abc import Callable

import torch
from torch import Tensor

from triton_grad.testing.museum import softmax_reference
from triton_grad.traps.triton_scale_columns_backward_x_strides import (
    triton_scale_columns_backward_x_strides,
    triton_scale_columns_forward,
)
from triton_grad.traps.triton_softmax_forward_contiguous_rows import (
    triton_softmax_forward_contiguous_rows,
)

Draw = Callable[..., Tensor]


def test_some_columns_of_a_matrix_are_read_as_a_whole_one(draw: Draw) -> None:
    matrix = draw(4, 8, seed=1)
    wrong = triton_softmax_forward_contiguous_rows(matrix[:, :6])
    read = matrix.flatten()[:24].view(4, 6)
    torch.testing.assert_close(wrong, softmax_reference(read))
    assert not torch.allclose(wrong, softmax_reference(matrix[:, :6]))


def test_a_part_of_a_wider_gradient_is_read_with_the_strides_of_x(
    draw: Draw,
) -> None:
    """As torch.cat hands it down: the first row is right, and no other."""
    x, weight, wide = draw(4, 6, seed=1), draw(6, seed=2), draw(4, 8, seed=3)
    grad_output = wide[:, :6]
    wrong = triton_scale_columns_backward_x_strides(grad_output, x, weight)
    right = grad_output * weight
    assert torch.equal(wrong[0], right[0])
    assert torch.equal(wrong, wide.flatten()[:24].view(4, 6) * weight)
    assert not torch.isclose(wrong[1:], right[1:]).all(1).any()


def test_the_forward_beside_it_takes_any_strides(draw: Draw) -> None:
    x, weight = draw(6, 8, seed=1)[:, ::2].t(), draw(6, seed=2)
    assert torch.equal(triton_scale_columns_forward(x, weight), x * weight)
