"""A tensor with two consumers: its hook fires once, with the sum."""

from typing import Any

import torch

from triton_grad.device import DEVICE
from triton_grad.ops.gelu import gelu
from triton_grad.ops.square import square

torch.manual_seed(3)
x = torch.randn(6).to(DEVICE).requires_grad_()
from_gelu, from_square = gelu(x), square(x)

sent: list[torch.Tensor] = []
for output in (from_gelu, from_square):
    node: Any = output.grad_fn
    node.register_hook(lambda grads, _: sent.append(grads[0].clone()))
arrived: list[torch.Tensor] = []
x.register_hook(arrived.append)
(from_gelu.sum() + from_square.sum()).backward()

assert x.grad is not None
print("backwards that sent a gradient to x:", len(sent))
print("calls of the hook on x:", len(arrived))
print("it saw their sum:", torch.equal(arrived[0], sent[0] + sent[1]))
print("x.grad is that sum:", torch.equal(x.grad, arrived[0]))
