"""Read the graph of GELU then square, and watch its backwards run."""

# /// script
# [tool.bookpress.loose]
# "max abs diff" = 1.0
# ///

from typing import Any

import torch

from triton_grad.device import DEVICE
from triton_grad.ops.gelu import gelu
from triton_grad.ops.square import square
from triton_grad.oracle import gelu_backward_oracle, gelu_oracle

torch.manual_seed(3)
x = torch.randn(6).to(DEVICE).requires_grad_()
z = gelu(x)
y = square(z)

square_node: Any = y.grad_fn
gelu_node: Any = square_node.next_functions[0][0]
leaf_node: Any = gelu_node.next_functions[0][0]
print("y.grad_fn:", type(square_node).__name__)
print("next:", type(gelu_node).__name__)
print("that is z.grad_fn:", gelu_node is z.grad_fn)
print("next after that:", type(leaf_node).__name__)
print("its variable is x:", leaf_node.variable is x)
print("next after the leaf:", leaf_node.next_functions)

ran: list[str] = []
for node in (leaf_node, gelu_node, square_node):
    name = type(node).__name__
    node.register_prehook(lambda _, name=name: ran.append(name))
y.sum().backward()
print("backwards ran:", ", then ".join(ran))

assert x.grad is not None
upstream = 2 * gelu_oracle(x.detach())
truth = gelu_backward_oracle(upstream, x.detach())
print("max abs diff:", (x.grad - truth).abs().max().item())
