"""The promise about order holds for every order of creation."""

from itertools import permutations

import torch
from torch import Tensor

from triton_grad.graph import autograd_nodes
from triton_grad.ops.gelu import gelu
from triton_grad.ops.square import square

# Every order in which two branches of two steps each can be written down.
ORDERS = sorted(set(permutations("aabb")))


def branches(x: Tensor, order: tuple[str, ...]) -> tuple[Tensor, Tensor]:
    """Lengthen branch a or b by one op, as the order says."""
    z = gelu(x)
    ends = {"a": z, "b": z}
    for branch in order:
        step = square if ends[branch] is z else gelu
        ends[branch] = step(ends[branch])
    return ends["a"], ends["b"]


def run_order(loss: Tensor) -> list[int]:
    """Run backward; the places of its nodes in the order they ran."""
    ran: list[int] = []
    for index, node in enumerate(autograd_nodes(loss)):
        node.grad_fn.register_prehook(
            lambda _, index=index: ran.append(index)
        )
    loss.backward()
    return ran


def test_every_node_runs_after_all_that_feed_it(x: Tensor) -> None:
    for order in ORDERS:
        a, b = branches(x, order)
        loss = (a + b).sum()
        nodes = autograd_nodes(loss)
        ran = run_order(loss)
        assert sorted(ran) == list(range(len(nodes)))
        for feeder, node in enumerate(nodes):
            for edge in node.edges:
                assert ran.index(feeder) < ran.index(edge.target), order


def test_the_rest_of_the_order_changes_with_the_lines(x: Tensor) -> None:
    seen = set()
    for order in ORDERS:
        a, b = branches(x, order)
        seen.add(tuple(run_order((a + b).sum())))
    assert len(seen) > 1


def test_the_gradient_does_not(x: Tensor) -> None:
    results = []
    for order in ORDERS:
        a, b = branches(x, order)
        results.append(torch.autograd.grad((a + b).sum(), x)[0])
    assert all(torch.equal(results[0], other) for other in results)
