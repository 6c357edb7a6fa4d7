"""With the library's op the penalty has a way to x of its own."""

import torch
from torch import Tensor

from triton_grad.graph import autograd_nodes, draw_mermaid
from triton_grad.ops.gelu import gelu


def test_two_ways_lead_to_x(x: Tensor) -> None:
    z = gelu(x)
    (slope,) = torch.autograd.grad(z.sum(), x, create_graph=True)
    loss = z.sum() + slope.square().sum()
    nodes = autograd_nodes(loss)
    (leaf,) = [i for i, node in enumerate(nodes) if node.leaf is x]
    ways = {
        node.name
        for node in nodes
        for edge in node.edges
        if edge.target == leaf
    }
    assert ways == {"TritonGELUBackward", "TritonGELUGradBackward"}


def test_the_drawing_names_the_slope(x: Tensor) -> None:
    z = gelu(x)
    (slope,) = torch.autograd.grad(z.sum(), x, create_graph=True)
    drawn = draw_mermaid(slope.square().sum(), {"dz/dx": slope})
    assert "TritonGELUGradBackward<br/>dz/dx, shape (300,)" in drawn
