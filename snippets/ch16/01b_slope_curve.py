"""GELU and its slope, drawn from what the two kernels return."""

# /// script
# requires-python = ">=3.11"
# dependencies = ["torch", "triton", "numpy"]
# [tool.bookpress]
# not-in-chapter-file = "It draws a diagram for the page."
# ///

import math

import torch

from triton_grad.device import DEVICE
from triton_grad.ops.gelu import triton_gelu_backward, triton_gelu_forward


def polyline(x: torch.Tensor, y: torch.Tensor, style: str) -> str:
    points = " ".join(
        f"{200 + 50 * a:.1f},{150 - 50 * b:.1f}"
        for a, b in zip(x.tolist(), y.tolist(), strict=True)
    )
    return f'<polyline points="{points}" fill="none" {style}/>'


x = torch.linspace(-3.9, 2.8, 135).to(DEVICE)
y = triton_gelu_forward(x)
slope = triton_gelu_backward(torch.ones_like(x), x)
top = math.sqrt(2.0)
peak = triton_gelu_backward(
    torch.ones(1, device=DEVICE), torch.tensor([top], device=DEVICE)
).item()

print(
    '<svg viewBox="0 0 400 200" width="100%" role="img"'
    ' style="max-width:44rem" font-size="13" fill="currentColor">'
    "<title>GELU and its slope</title>"
    "<desc>GELU dips below zero left of the origin and then follows the"
    " line y = x. Its slope is negative left of the dip, one half at zero,"
    " and passes one before it comes back to one.</desc>"
    '<path d="M0 150H400M200 0V200" stroke="var(--book-line, #888)"/>'
    '<path d="M0 100H400" stroke="var(--book-line, #888)"'
    ' stroke-dasharray="2 5"/><text x="4" y="95">1</text>'
)
print(polyline(x, y, 'stroke="var(--book-live, #2f7d6b)" stroke-width="3"'))
dashes = 'stroke-width="3" stroke-dasharray="7 4"'
print(polyline(x, slope, f'stroke="var(--book-masked, #d9822b)" {dashes}'))
print(
    '<text x="300" y="30" text-anchor="end">xΦ(x)</text>'
    f'<text x="392" y="{142 - 50 * peak:.0f}" text-anchor="end">'
    f"slope, {peak:.3f} at √2</text></svg>"
)
