"""The chain as backward walks it, with what arrived at each node."""

# /// script
# [tool.bookpress]
# not-in-chapter-file = "It draws a diagram for the page."
# ///

import torch

from triton_grad.device import DEVICE
from triton_grad.graph import AutogradNode, autograd_nodes
from triton_grad.ops.gelu import gelu

torch.manual_seed(3)
x = torch.randn(6).to(DEVICE).requires_grad_()
loss = (2 * gelu(x) + 1).sum()

arrived: dict[str, list[float]] = {}


def watch(node: AutogradNode) -> None:
    """Write down what the node is given."""
    node.grad_fn.register_prehook(
        lambda grads: arrived.update({node.name: grads[0].view(-1).tolist()})
    )


def label(values: list[float]) -> str:
    """One number where all are equal, else the first two."""
    if len(set(values)) == 1:
        return f"{len(values)} × {values[0]}"
    return f"{values[0]:.4f}, {values[1]:.4f}, …"


nodes = autograd_nodes(loss)
for node in nodes:
    watch(node)
loss.backward()

print("flowchart TD")
for index, node in enumerate(nodes):
    print(f'    n{index}["{node.name}"]')
for index, node in enumerate(nodes):
    for edge in node.edges:
        text = label(arrived[nodes[edge.target].name])
        print(f'    n{index} -->|"{text}"| n{edge.target}')
