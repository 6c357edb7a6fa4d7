"""Exercise: z * z uses z twice in one node, and backward gets 2z."""

from typing import Any

import torch

from triton_grad.device import DEVICE
from triton_grad.ops.gelu import gelu

torch.manual_seed(3)
x = torch.randn(6).to(DEVICE).requires_grad_()
z = gelu(x)
product = z * z

gelu_node: Any = z.grad_fn
product_node: Any = product.grad_fn
entries = [node for node, _ in product_node.next_functions]
received: list[torch.Tensor] = []
gelu_node.register_prehook(lambda grads: received.append(grads[0].clone()))
product.sum().backward()

print("entries of the product:", len(entries))
print("both are z.grad_fn:", all(node is gelu_node for node in entries))
print("backward calls:", len(received))
print("grad_output is 2z:", torch.equal(received[0], 2 * z))
