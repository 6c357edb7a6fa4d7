"""At every node of a chain there arrives the product of later slopes."""

from collections.abc import Callable

import torch
from torch import Tensor

from triton_grad.graph import autograd_nodes
from triton_grad.ops.gelu import gelu
from triton_grad.oracle import gelu_backward_oracle


def test_each_node_is_given_the_slopes_after_it(
    x: Tensor, assert_true: Callable[[Tensor | None, Tensor], None]
) -> None:
    loss = (2 * gelu(x) + 1).sum()
    nodes = autograd_nodes(loss)
    assert [node.name for node in nodes] == [
        "SumBackward0",
        "AddBackward0",
        "MulBackward0",
        "TritonGELUBackward",
        "AccumulateGrad",
    ]
    given: list[Tensor] = []
    for node in nodes:
        node.grad_fn.register_prehook(lambda grads: given.extend(grads))
    loss.backward()

    ones = torch.ones_like(x)
    assert given[0].item() == 1.0
    assert torch.equal(given[1], ones)
    assert torch.equal(given[2], ones)
    assert torch.equal(given[3], 2 * ones)
    assert_true(given[4], gelu_backward_oracle(2 * ones, x.detach()))
