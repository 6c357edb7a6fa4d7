"""In the graph of a weighted sum, gelu is one node between two others."""

import torch

from triton_grad.device import DEVICE
from triton_grad.graph import autograd_nodes, draw_mermaid
from triton_grad.ops.gelu import gelu


def test_one_node_for_the_op() -> None:
    x = torch.ones(5, device=DEVICE, requires_grad=True)
    z = gelu(x)
    loss = (torch.arange(5.0, device=DEVICE) * z).sum()
    nodes = autograd_nodes(loss)
    names = [node.name for node in nodes]
    assert names.count("TritonGELUBackward") == 1
    assert names.index("MulBackward0") < names.index("TritonGELUBackward")
    assert nodes[names.index("TritonGELUBackward")].grad_fn is z.grad_fn
    assert nodes[-1].leaf is x
    drawing = draw_mermaid(loss, {"z": z, "x": x})
    assert all(name in drawing for name in names)
