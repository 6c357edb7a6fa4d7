"""One graph, written down in two orders: what the engine promises."""

from typing import Any

import torch

from triton_grad.device import DEVICE
from triton_grad.ops.gelu import gelu
from triton_grad.ops.square import square

# Each result, with the op that makes it and what that op is given.
GRAPH = {
    "z": (gelu, "x"),
    "a1": (square, "z"),
    "a2": (gelu, "a1"),
    "b1": (square, "z"),
    "b2": (gelu, "b1"),
}


def backward_order(forward_order: str) -> list[str]:
    """Build the graph line by line; return the order of its backwards."""
    tensors = {"x": torch.ones(6, device=DEVICE, requires_grad=True)}
    ran: list[str] = []
    for name in forward_order.split():
        op, source = GRAPH[name]
        tensors[name] = op(tensors[source])
        node: Any = tensors[name].grad_fn
        node.register_prehook(lambda _, name=name: ran.append(name))
    (tensors["a2"] + tensors["b2"]).sum().backward()
    return ran


for forward_order in ("z a1 a2 b1 b2", "z a1 b1 a2 b2"):
    ran = backward_order(forward_order)
    kept = all(
        ran.index(name) < ran.index(source)
        for name, (_, source) in GRAPH.items()
        if source in ran
    )
    print(f"forward {forward_order}, backward:", " ".join(ran))
    print(f"forward {forward_order}, each after all that feed it:", kept)
