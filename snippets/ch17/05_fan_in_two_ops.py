"""z used by two ops: each sends its share, backward gets the sum."""

# /// script
# [tool.bookpress.loose]
# "max abs diff" = 1.0
# ///

from typing import Any

import torch

from triton_grad.device import DEVICE
from triton_grad.ops.gelu import gelu
from triton_grad.oracle import gelu_backward_oracle

torch.manual_seed(3)
x = torch.randn(6).to(DEVICE).requires_grad_()
z = gelu(x)
double, triple = 2 * z, 3 * z

sent: dict[str, torch.Tensor] = {}
for name, consumer in (("2z", double), ("3z", triple)):
    node: Any = consumer.grad_fn
    node.register_hook(
        lambda grads, _, name=name: sent.update({name: grads[0].clone()})
    )
received: list[torch.Tensor] = []
node: Any = z.grad_fn
node.register_prehook(lambda grads: received.append(grads[0].clone()))
(double.sum() + triple.sum()).backward()

assert x.grad is not None
truth = gelu_backward_oracle(torch.full_like(x, 5.0), x.detach())
print("2z sends:", sent["2z"].tolist())
print("3z sends:", sent["3z"].tolist())
print("backward calls:", len(received))
print("grad_output:", received[0].tolist())
print("max abs diff:", (x.grad - truth).abs().max().item())
