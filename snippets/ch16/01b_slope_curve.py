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
from triton_grad.ops.gelu_erf import triton_gelu_backward, triton_gelu_forward


def polyline(x: torch.Tensor, y: torch.Tensor, style: str) -> str:
    points = " ".join(
        f"{200 + 50 * a:.1f},{150 - 50 * b:.1f}"
        for a, b in zip(x.tolist(), y.tolist(), strict=True)
    )
    return f'<polyline points="{points}" fill="none" {style}/>'


x = torch.linspace(-3.9, 2.8, 135).to(DEVICE)
y = triton_gelu_forward(x)
slope = triton_gelu_backward(torch.ones_like(x), x)
ticks = {"−1": -1.0, "√2": math.sqrt(2.0), "2": 2.0}
at = torch.tensor(list(ticks.values()), device=DEVICE)
slopes = triton_gelu_backward(torch.ones_like(at), at).tolist()

print(
    '<svg viewBox="0 0 400 200" width="100%" role="img"'
    ' style="max-width:44rem" font-size="13" fill="currentColor">'
    "<title>GELU and its slope</title>"
    "<desc>GELU dips below zero left of the origin and then follows the"
    " line y = x. Its slope is negative left of the dip, one half at zero,"
    " and passes one before it comes back to one. Dots mark the slope at"
    f" −1, √2 and 2: {', '.join(f'{b:.3f}' for b in slopes)}.</desc>"
    '<g stroke="var(--book-line, #888)"><path d="M0 150H400M200 0V200"/>'
    '<path d="M150 200L350 0"/><path d="M0 100H400" stroke-dasharray="2 5"/>'
    '</g><text x="4" y="95">1</text>'
    '<text x="145" y="197" text-anchor="end">y = x</text>'
)
print(polyline(x, y, 'stroke="var(--book-live, #2f7d6b)" stroke-width="3"'))
dashes = 'stroke-width="3" stroke-dasharray="7 4"'
print(polyline(x, slope, f'stroke="var(--book-masked, #d9822b)" {dashes}'))
for (label, a), b in zip(ticks.items(), slopes, strict=True):
    left, top = 200 + 50 * a, 150 - 50 * b
    print(
        f'<path d="M{left:.1f} 150V{top:.1f}" stroke="currentColor"/>'
        f'<circle cx="{left:.1f}" cy="{top:.1f}" r="4"/>'
        f'<text x="{left:.1f}" y="172" text-anchor="middle">{label}</text>'
    )
print(
    '<text x="300" y="30" text-anchor="end">xΦ(x)</text>'
    '<text x="392" y="86" text-anchor="end">'
    f"slope, {slopes[1]:.3f} at √2</text></svg>"
)
