"""The three launches that take a tensor as it lies in memory."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from triton_grad.ops.gelu_erf import triton_gelu_forward
from triton_grad.oracle import gelu_backward_oracle, gelu_oracle
from triton_grad.traps.triton_gelu_backward_contiguous_grad_only import (
    TritonGELUContiguousGradOnly,
    triton_gelu_backward_contiguous_grad_only,
)
from triton_grad.traps.triton_gelu_backward_no_contiguous import (
    TritonGELUNoContiguous,
    triton_gelu_backward_no_contiguous,
)
from triton_grad.traps.triton_gelu_forward_no_contiguous import (
    triton_gelu_forward_no_contiguous,
)

AssertRight = Callable[[Tensor, Tensor], None]
Draw = Callable[..., Tensor]
Backward = Callable[[Tensor, Tensor], Tensor]

FUNCTIONS = [TritonGELUNoContiguous, TritonGELUContiguousGradOnly]
BACKWARDS = [
    triton_gelu_backward_no_contiguous,
    triton_gelu_backward_contiguous_grad_only,
]


def test_a_slice_catches_the_forward(
    draw: Draw, assert_right: AssertRight
) -> None:
    x = draw(6, 8, seed=1)[:, ::2]
    with pytest.raises(AssertionError):
        assert_right(triton_gelu_forward_no_contiguous(x), gelu_oracle(x))


def test_a_transposed_x_misses_the_forward(
    draw: Draw, assert_right: AssertRight
) -> None:
    x = draw(6, 4, seed=1).t()
    assert_right(triton_gelu_forward_no_contiguous(x), gelu_oracle(x))


@pytest.mark.parametrize("backward", BACKWARDS)
def test_a_transposed_x_catches_both_backwards(
    backward: Backward, draw: Draw, assert_right: AssertRight
) -> None:
    x, grad_output = draw(6, 4, seed=1).t(), draw(4, 6, seed=2)
    with pytest.raises(AssertionError):
        assert_right(
            backward(grad_output, x), gelu_backward_oracle(grad_output, x)
        )


def test_a_sliced_gradient_catches_one_backward(
    draw: Draw, assert_right: AssertRight
) -> None:
    x, grad_output = draw(4, 6, seed=1), draw(4, 12, seed=2)[:, ::2]
    truth = gelu_backward_oracle(grad_output, x)
    with pytest.raises(AssertionError):
        assert_right(
            triton_gelu_backward_no_contiguous(grad_output, x), truth
        )
    assert_right(
        triton_gelu_backward_contiguous_grad_only(grad_output, x), truth
    )


def test_a_gradient_of_one_element_is_read_past_its_end(
    draw: Draw, assert_right: AssertRight
) -> None:
    """As sum() hands down; here with numbers of ours behind the element."""
    x, memory = draw(24, seed=1), draw(24, seed=2)
    grad_output = memory[:1].expand(24)
    wrong = triton_gelu_backward_no_contiguous(grad_output, x)
    assert_right(wrong, gelu_backward_oracle(memory, x))


@pytest.mark.parametrize(
    ("function", "backward"), [*zip(FUNCTIONS, BACKWARDS, strict=True)]
)
def test_the_functions_use_these_launches(
    function: Any, backward: Backward, draw: Draw
) -> None:
    x = draw(6, 8, seed=1)[:, ::2].detach().requires_grad_()
    grad_output = draw(6, 8, seed=2)[:, ::2]
    y = function.apply(x)
    (dx,) = torch.autograd.grad(y, x, grad_output)
    assert torch.equal(y, triton_gelu_forward(x.detach()))
    assert torch.equal(dx, backward(grad_output, x.detach()))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_contiguous_tensors_miss_both(
    function: Any, draw: Draw, assert_right: AssertRight
) -> None:
    x, grad_output = draw(4, 6, seed=1).requires_grad_(), draw(4, 6, seed=2)
    (dx,) = torch.autograd.grad(function.apply(x), x, grad_output)
    assert_right(dx, gelu_backward_oracle(grad_output, x.detach()))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_gradcheck_misses_both(function: Any, draw: Draw) -> None:
    x = draw(2, 3, seed=1, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(function.apply, x)


def test_sum_misses_the_second(draw: Draw, assert_right: AssertRight) -> None:
    x = draw(4, 6, seed=1).requires_grad_()
    y = TritonGELUContiguousGradOnly.apply(x)
    (dx,) = torch.autograd.grad(y.sum(), x)
    assert_right(dx, gelu_backward_oracle(torch.ones_like(x), x.detach()))
