"""GELU then square, drawn from the graph that autograd recorded."""

# /// script
# [tool.bookpress]
# not-in-chapter-file = "It draws a diagram for the page."
# ///

import torch

from triton_grad.device import DEVICE
from triton_grad.graph import draw_mermaid
from triton_grad.ops.gelu import gelu
from triton_grad.ops.square import square

x = torch.ones(6, device=DEVICE, requires_grad=True)
z = gelu(x)
y = square(z)
print(draw_mermaid(y.sum(), {"x": x, "z": z, "y": y}))
