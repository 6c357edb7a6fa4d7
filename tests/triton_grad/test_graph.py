"""The walk over autograd's graph, and its drawing."""

from typing import Any

import pytest
import torch
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.graph import autograd_nodes, draw_mermaid
from triton_grad.ops.gelu import gelu
from triton_grad.ops.square import square


def leaf(n: int = 6) -> Tensor:
    return torch.linspace(-1.0, 1.0, n, device=DEVICE).requires_grad_()


def test_a_chain() -> None:
    x = leaf()
    z = gelu(x)
    nodes = autograd_nodes(square(z))
    assert [node.name for node in nodes] == [
        "TritonSquareBackward",
        "TritonGELUBackward",
        "AccumulateGrad",
    ]
    assert nodes[1].grad_fn is z.grad_fn
    assert nodes[2].leaf is x
    assert [node.leaf for node in nodes[:2]] == [None, None]


def test_fan_in_shows_the_shared_node_once() -> None:
    x = leaf()
    z = gelu(x)
    assert draw_mermaid(z.sum() + z.sum(), {"x": x, "z": z}) == "\n".join(
        [
            "flowchart TD",
            '    n0["AddBackward0"]',
            '    n1["SumBackward0"]',
            '    n2["SumBackward0"]',
            '    n3["TritonGELUBackward<br/>z, shape (6,)"]',
            '    n4(["AccumulateGrad<br/>x, shape (6,)"])',
            "    n0 -->|argument 0| n1",
            "    n0 -->|argument 1| n2",
            "    n1 --> n3",
            "    n2 --> n3",
            "    n3 --> n4",
        ]
    )


def test_a_tensor_used_twice_by_one_node_has_two_edges() -> None:
    x = leaf()
    assert draw_mermaid(x * x).splitlines()[-2:] == [
        "    n0 -->|argument 0| n1",
        "    n0 -->|argument 1| n1",
    ]


def test_an_argument_without_gradient_has_no_edge() -> None:
    x = leaf()
    root, _ = autograd_nodes(torch.ones_like(x) * x)
    assert [edge.argument for edge in root.edges] == [1]
    assert "argument" not in draw_mermaid(torch.ones_like(x) * x)


def test_an_edge_says_at_which_input_it_arrives() -> None:
    first, second = leaf().split(3)
    root = autograd_nodes(first * second)[0]
    assert [(e.argument, e.input_index) for e in root.edges] == [
        (0, 0),
        (1, 1),
    ]
    assert len({edge.target for edge in root.edges}) == 1


def test_a_leaf_without_a_name_shows_its_shape() -> None:
    assert '(["AccumulateGrad<br/>shape (6,)"])' in draw_mermaid(leaf() + 1)


def test_a_name_cannot_break_the_drawing() -> None:
    """That a browser draws the codes as the name: see tests/site."""
    x = leaf()
    drawing = draw_mermaid(x + 1, {'x#1 "a" <b> &c': x})
    name = "x#35;1 #quot;a#quot; #lt;b#gt; #amp;c"
    assert f'(["AccumulateGrad<br/>{name}, shape' in drawing


def test_only_an_accumulate_grad_node_is_a_leaf() -> None:
    class KeepsAVariable(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.variable = x
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad_output: Tensor) -> Tensor:
            return grad_output

    x = leaf()
    custom, accumulate = autograd_nodes(KeepsAVariable.apply(x))
    assert custom.leaf is None
    assert accumulate.leaf is x


def test_an_argument_is_a_place_in_next_functions() -> None:
    class Weighted(torch.autograd.Function):
        @staticmethod
        def forward(
            ctx: Any, weight: float, x: Tensor, index: Tensor, y: Tensor
        ) -> Tensor:
            return weight * (x + y)[index]

        @staticmethod
        def backward(ctx: Any, grad_output: Tensor) -> tuple[None, ...]:
            return None, None, None, None

    x, y = leaf(), leaf()
    index = torch.arange(6, device=DEVICE)
    # The number among the tensors: index is 1 and needs no gradient.
    custom = autograd_nodes(Weighted.apply(2.0, x, index, y))[0]
    assert [edge.argument for edge in custom.edges] == [0, 2]
    # PyTorch's own op has no place for where's first argument, a condition.
    builtin = autograd_nodes(torch.where(index > 2, x, y))[0]
    assert [edge.argument for edge in builtin.edges] == [0, 1]


def test_two_runs_draw_the_same() -> None:
    def drawing() -> str:
        x, v = leaf(), leaf()
        z = gelu(x)
        y = (z * v).sum() + (z + square(v)).sum()
        return draw_mermaid(y, {"x": x, "v": v})

    assert drawing() == drawing()
    assert "0x" not in drawing()


@pytest.mark.parametrize("requires_grad", [True, False])
def test_a_tensor_without_a_graph_is_refused(requires_grad: bool) -> None:
    x = torch.ones(2, requires_grad=requires_grad)
    with pytest.raises(ValueError, match=f"requires_grad={requires_grad}"):
        draw_mermaid(x)


def test_a_long_chain_does_not_exhaust_the_stack() -> None:
    x = leaf()
    y = x * 1.0
    for _ in range(3000):
        y = y + 1.0
    assert len(autograd_nodes(y)) == 3002
