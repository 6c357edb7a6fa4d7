"""The library is right in every pair of layouts; the naive wrapper is not."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.ops.gelu_erf import triton_gelu_backward, triton_gelu_forward
from triton_grad.oracle import gelu_backward_oracle, gelu_oracle
from triton_grad.traps.triton_gelu_backward_contiguous_grad_only import (
    triton_gelu_backward_contiguous_grad_only,
)
from triton_grad.traps.triton_gelu_backward_no_contiguous import (
    triton_gelu_backward_no_contiguous,
)
from triton_grad.traps.triton_gelu_forward_no_contiguous import (
    triton_gelu_forward_no_contiguous,
)

AssertTrue = Callable[[Tensor, Tensor], None]


def drawn(*shape: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator).to(DEVICE)


def laid_out(layout: str, seed: int) -> Tensor:
    if layout == "transposed":
        return drawn(50, 40, seed=seed).T
    if layout == "every second column":
        return drawn(40, 100, seed=seed)[:, ::2]
    if layout == "one column for all":
        return drawn(40, 1, seed=seed).expand(40, 50)
    return drawn(40, 50, seed=seed)


LAYOUTS = [
    "in order",
    "transposed",
    "every second column",
    "one column for all",
]


@pytest.mark.parametrize("of_x", LAYOUTS)
@pytest.mark.parametrize("of_grad", LAYOUTS)
def test_the_library_is_right(
    assert_true: AssertTrue, of_x: str, of_grad: str
) -> None:
    x, grad_output = laid_out(of_x, 6), laid_out(of_grad, 7)
    assert_true(triton_gelu_forward(x), gelu_oracle(x))
    assert_true(
        triton_gelu_backward(grad_output, x),
        gelu_backward_oracle(grad_output, x),
    )


def test_transposed_forward_right_backward_wrong(
    assert_true: AssertTrue,
) -> None:
    x, grad_output = laid_out("transposed", 6), laid_out("in order", 7)
    assert_true(triton_gelu_forward_no_contiguous(x), gelu_oracle(x))
    wrong = triton_gelu_backward_contiguous_grad_only(grad_output, x)
    truth = gelu_backward_oracle(grad_output, x)
    assert (wrong - truth).abs().max() > 1


def test_sliced_both_wrong() -> None:
    x = laid_out("every second column", 6)
    grad_output = laid_out("in order", 7)
    forward = triton_gelu_forward_no_contiguous(x)
    backward = triton_gelu_backward_contiguous_grad_only(grad_output, x)
    truth = gelu_backward_oracle(grad_output, x)
    assert (forward - gelu_oracle(x)).abs().max() > 1
    assert (backward - truth).abs().max() > 1


def test_an_expanded_gradient_is_read_past_its_one_element(
    assert_true: AssertTrue,
) -> None:
    x, memory = drawn(2000, seed=6), drawn(2000, seed=7)
    upstream = memory[0].expand(2000)
    # What the kernel takes for the gradient is the memory from there on.
    assert_true(
        triton_gelu_backward_no_contiguous(upstream, x),
        gelu_backward_oracle(memory, x),
    )
    assert_true(
        triton_gelu_backward(upstream, x), gelu_backward_oracle(upstream, x)
    )


def test_sevens_behind_that_element_multiply_all_others_by_seven(
    assert_true: AssertTrue,
) -> None:
    x, memory = drawn(2000, seed=6), torch.full((2000,), 7.0).to(DEVICE)
    memory[0] = 1.0
    upstream = memory[0].expand(2000)
    sevenfold = 7 * gelu_backward_oracle(upstream, x)
    sevenfold[0] /= 7
    assert_true(triton_gelu_backward_no_contiguous(upstream, x), sevenfold)


def test_ordering_grad_output_alone_repairs_stride_0(
    assert_true: AssertTrue,
) -> None:
    x, upstream = drawn(2000, seed=6), drawn(1, seed=7).expand(2000)
    assert_true(
        triton_gelu_backward_contiguous_grad_only(upstream, x),
        gelu_backward_oracle(upstream, x),
    )
