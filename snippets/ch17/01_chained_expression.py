"""With w = 2z + 1 the engine makes the grad_output of a custom GELU."""

# /// script
# [tool.bookpress.loose]
# "max abs diff" = 1.0
# ///

import torch

from triton_grad.device import DEVICE
from triton_grad.ops.gelu import gelu
from triton_grad.oracle import gelu_backward_oracle

torch.manual_seed(3)
x = torch.randn(6).to(DEVICE).requires_grad_()

z = gelu(x)
w = 2 * z + 1
at_w: list[torch.Tensor] = []
at_z: list[torch.Tensor] = []
w.register_hook(at_w.append)
z.register_hook(at_z.append)
w.sum().backward()

assert x.grad is not None
truth = gelu_backward_oracle(torch.full_like(x, 2.0), x.detach())
print("gradient at w:", at_w[0].tolist())
print("gradient at z:", at_z[0].tolist())
print("x.grad:", [round(v, 4) for v in x.grad.tolist()])
print("max abs diff:", (x.grad - truth).abs().max().item())
