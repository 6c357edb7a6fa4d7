"""With a raw backward the penalty is a constant: no node leads from it."""

import torch
from torch import Tensor

from triton_grad.graph import autograd_nodes, draw_mermaid
from triton_grad.traps.triton_gelu_raw_backward import TritonGELURawBackward


def test_one_way_leads_to_x(x: Tensor) -> None:
    z = TritonGELURawBackward.apply(x)
    (slope,) = torch.autograd.grad(z.sum(), x, create_graph=True)
    loss = z.sum() + slope.square().sum()
    nodes = autograd_nodes(loss)
    (leaf,) = [i for i, node in enumerate(nodes) if node.leaf is x]
    ways = [
        node.name
        for node in nodes
        for edge in node.edges
        if edge.target == leaf
    ]
    assert ways == ["TritonGELURawBackwardBackward"]
    assert "Pow" not in draw_mermaid(loss)
