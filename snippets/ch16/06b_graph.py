"""The graph of one call, drawn from its live nodes."""

# /// script
# requires-python = ">=3.11"
# dependencies = ["torch", "triton", "numpy"]
# [tool.bookpress]
# not-in-chapter-file = "It draws a diagram for the page."
# ///

import torch

from triton_grad.device import DEVICE
from triton_grad.graph import draw_mermaid
from triton_grad.ops.gelu import gelu

x = torch.randn(5000).to(DEVICE).requires_grad_()
weight = torch.randn(5000).to(DEVICE)
z = gelu(x)
loss = (weight * z).sum()

print(draw_mermaid(loss, {"loss": loss, "z": z, "x": x}))
