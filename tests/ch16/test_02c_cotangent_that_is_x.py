"""With the cotangent equal to x, swapped arguments cannot be seen."""

from collections.abc import Callable

import torch
from torch import Tensor

from triton_grad.ops.gelu_erf import triton_gelu_backward
from triton_grad.oracle import gelu_backward_oracle

Pair = Callable[[int], tuple[Tensor, Tensor]]


def test_swapping_equal_tensors_changes_nothing(
    pair: Pair, assert_true: Callable[[Tensor, Tensor], None]
) -> None:
    x, _ = pair(500)
    assert_true(
        triton_gelu_backward(x, x.clone()), gelu_backward_oracle(x, x)
    )


def test_swapping_others_does(pair: Pair) -> None:
    x, grad_output = pair(500)
    truth = gelu_backward_oracle(grad_output, x)
    swapped = triton_gelu_backward(x, grad_output)
    assert not torch.allclose(swapped.double(), truth, rtol=0.1, atol=0.1)
