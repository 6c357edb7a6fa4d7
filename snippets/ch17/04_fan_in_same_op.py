"""z used twice by the same op: one backward call, the sum already made."""

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

received: list[torch.Tensor] = []
node: Any = z.grad_fn
node.register_prehook(lambda grads: received.append(grads[0].clone()))
(z.sum() + z.sum()).backward()

assert x.grad is not None
truth = gelu_backward_oracle(torch.full_like(x, 2.0), x.detach())
print("backward calls:", len(received))
print("grad_output:", received[0].tolist())
print("max abs diff:", (x.grad - truth).abs().max().item())
