"""Exercise: the same chain closed with mean() hands down 2/n."""

import torch

from triton_grad.device import DEVICE
from triton_grad.ops.gelu import gelu

torch.manual_seed(3)
x = torch.randn(6).to(DEVICE).requires_grad_()

z = gelu(x)
arrived: list[torch.Tensor] = []
z.register_hook(arrived.append)
(2 * z + 1).mean().backward()

print("gradient at z:", [round(v, 4) for v in arrived[0].tolist()])
print("2 / n:", round(2 / x.numel(), 4))
