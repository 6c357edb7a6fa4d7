"""The same loss when backward is a differentiable op: two ways to x."""

# /// script
# [tool.bookpress]
# not-in-chapter-file = "It draws a diagram for the page."
# ///

import torch

from triton_grad.device import DEVICE
from triton_grad.graph import draw_mermaid
from triton_grad.ops.gelu import gelu

x = torch.ones(6, device=DEVICE, requires_grad=True)
z = gelu(x)
(slope,) = torch.autograd.grad(z.sum(), x, create_graph=True)
loss = z.sum() + slope.square().sum()
print(draw_mermaid(loss, {"x": x, "z": z, "dz/dx": slope}))
