"""Walk the graph that autograd has recorded, and draw it."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor
from torch.autograd.graph import Node

# Mermaid's own codes for what it would read as its syntax or as HTML.
MERMAID_CODES = str.maketrans(
    {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;"}
)


@dataclass(frozen=True)
class AutogradEdge:
    """A gradient's way from one node to the next.

    Attributes:
        argument: Its place in `next_functions`. For a custom op that is
            the number of the tensor argument, from 0; many of PyTorch's own
            ops give no place to an argument that can have no gradient.
        target: Index of the next node in the list of nodes.
        input_index: Which input of that node the gradient arrives at.
    """

    argument: int
    target: int
    input_index: int


@dataclass(frozen=True)
class AutogradNode:
    """A node of the graph, and where its gradients go.

    Attributes:
        name: The node's class, such as `MulBackward0`.
        grad_fn: The live node.
        leaf: The tensor that the gradient is stored in, for the kind
            `AccumulateGrad`; otherwise None.
        edges: One for each argument that needs a gradient.
    """

    name: str
    grad_fn: Node
    leaf: Tensor | None
    edges: tuple[AutogradEdge, ...]


def autograd_nodes(tensor: Tensor) -> list[AutogradNode]:
    """Every node that a backward pass from the tensor can reach, once each.

    Args:
        tensor: The result of a differentiable operation.

    Returns:
        The nodes, nearest first: the tensor's own grad_fn has index 0.

    Raises:
        ValueError: The tensor has no grad_fn.
    """
    if tensor.grad_fn is None:
        raise ValueError(
            "autograd_nodes() needs the result of a differentiable"
            " operation, got a tensor without grad_fn"
            f" (requires_grad={tensor.requires_grad})"
        )
    indices = {tensor.grad_fn: 0}
    waiting = deque([tensor.grad_fn])
    nodes: list[AutogradNode] = []
    while waiting:
        grad_fn = waiting.popleft()
        edges: list[AutogradEdge] = []
        for argument, (target, port) in enumerate(grad_fn.next_functions):
            if target is None:
                continue
            if target not in indices:
                indices[target] = len(indices)
                waiting.append(target)
            edges.append(AutogradEdge(argument, indices[target], port))
        name = type(grad_fn).__name__
        # A custom op can keep something under this name in its ctx.
        is_leaf = name == "AccumulateGrad"
        leaf = getattr(grad_fn, "variable", None) if is_leaf else None
        nodes.append(AutogradNode(name, grad_fn, leaf, tuple(edges)))
    return nodes


def draw_mermaid(
    tensor: Tensor, names: Mapping[str, Tensor] | None = None
) -> str:
    """The tensor's graph as a Mermaid flowchart, drawn from live objects.

    Arrows run as backward does, from the tensor to the leaves. Where a node
    has several, each says its place, as in `AutogradEdge.argument`.

    Args:
        tensor: The result of a differentiable operation.
        names: Names to write on the leaves and on the nodes whose result
            a tensor is.

    Returns:
        Mermaid source, the same in every run.

    Raises:
        ValueError: The tensor has no grad_fn.
    """
    nodes = autograd_nodes(tensor)
    lines = ["flowchart TD"]
    for index, node in enumerate(nodes):
        lines.append(f"    n{index}{_box(node, names or {})}")
    for index, node in enumerate(nodes):
        for edge in node.edges:
            label = f"|argument {edge.argument}|" * (len(node.edges) > 1)
            lines.append(f"    n{index} -->{label} n{edge.target}")
    return "\n".join(lines)


def _box(node: AutogradNode, names: Mapping[str, Tensor]) -> str:
    """A node's shape and text: leaves are round."""
    parts = [node.name]
    for name, tensor in names.items():
        if tensor is node.leaf or tensor.grad_fn is node.grad_fn:
            parts.append(f"{name}, shape {tuple(tensor.shape)}")
    if node.leaf is not None and len(parts) == 1:
        parts.append(f"shape {tuple(node.leaf.shape)}")
    text = "<br/>".join(part.translate(MERMAID_CODES) for part in parts)
    return f'["{text}"]' if node.leaf is None else f'(["{text}"])'
