"""A result multiplied by itself: two entries, one node, one call."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from triton_grad.ops.gelu import gelu
from triton_grad.oracle import gelu_backward_oracle, gelu_oracle


def test_both_factors_lead_to_one_node(x: Tensor) -> None:
    z = gelu(x)
    product: Any = (z * z).grad_fn
    assert product.next_functions == ((z.grad_fn, 0), (z.grad_fn, 0))


def test_one_call_with_twice_the_factor(
    x: Tensor,
    weights: Tensor,
    backward_calls: list[tuple[str, Tensor]],
    assert_true: Callable[[Tensor | None, Tensor], None],
) -> None:
    z = gelu(x)
    (z * z).backward(weights)
    ((_, grad_output),) = backward_calls
    torch.testing.assert_close(grad_output, 2 * z.detach() * weights)
    leaf = x.detach()
    upstream = 2 * gelu_oracle(leaf) * weights.double()
    assert_true(x.grad, gelu_backward_oracle(upstream, leaf))
