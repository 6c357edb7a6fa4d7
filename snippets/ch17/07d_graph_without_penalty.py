"""The loss with a gradient penalty, as a raw backward leaves it."""

# /// script
# [tool.bookpress]
# not-in-chapter-file = "It draws a diagram for the page."
# ///

import torch

from triton_grad.device import DEVICE
from triton_grad.graph import draw_mermaid
from triton_grad.traps.triton_gelu_raw_backward import TritonGELURawBackward

x = torch.ones(6, device=DEVICE, requires_grad=True)
z = TritonGELURawBackward.apply(x)
(slope,) = torch.autograd.grad(z.sum(), x, create_graph=True)
loss = z.sum() + slope.square().sum()
print(draw_mermaid(loss, {"x": x, "z": z}))
