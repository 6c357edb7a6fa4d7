"""The naive wrapper multiplies what lies at the same place in memory."""

from collections.abc import Callable

import torch
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.oracle import gelu_backward_oracle
from triton_grad.traps.triton_gelu_backward_no_contiguous import (
    triton_gelu_backward_no_contiguous,
)


def memory_of(tensor: Tensor) -> Tensor:
    return tensor.as_strided((tensor.numel(),), (1,))


def test_its_result_is_the_gradient_of_two_walks(
    assert_true: Callable[[Tensor, Tensor], None],
) -> None:
    generator = torch.Generator().manual_seed(9)
    x = torch.randn(3, 2, generator=generator).to(DEVICE).T
    grad_output = torch.randn(2, 3, generator=generator).to(DEVICE)
    wrong = triton_gelu_backward_no_contiguous(grad_output, x)
    assert_true(
        memory_of(wrong),
        gelu_backward_oracle(memory_of(grad_output), memory_of(x)),
    )


def test_the_walks_agree_in_the_first_and_last_element_only() -> None:
    numbers = torch.arange(6).reshape(2, 3)
    transposed = numbers.T.contiguous().T
    assert torch.equal(transposed, numbers)
    same = memory_of(transposed) == memory_of(numbers)
    assert same.tolist() == [True, False, False, False, False, True]
