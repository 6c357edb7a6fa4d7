"""The ten programs over 10000 elements, drawn from what they signed."""

# /// script
# requires-python = ">=3.11"
# dependencies = ["torch", "triton", "numpy"]
# [tool.bookpress]
# not-in-chapter-file = "It draws a diagram for the page."
# ///

import torch
import triton
import triton.language as tl

from triton_grad.device import DEVICE
from triton_grad.launch import launch_programs


@triton.jit
def sign_elements_kernel(signed_ptr, n, BLOCK: tl.constexpr):
    """Each live lane signs its element with its program's id."""
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    tl.store(signed_ptr + offsets, pid, mask=offsets < n)


n, BLOCK = 10000, 1024
programs = int(triton.cdiv(n, BLOCK))
signed = torch.full((programs * BLOCK,), -1, dtype=torch.int32).to(DEVICE)
launch_programs(sign_elements_kernel, signed[:n], BLOCK=BLOCK)
live = [(signed == pid).sum().item() for pid in range(programs)]

print(
    '<svg viewBox="0 0 400 268" width="100%" role="img"'
    ' style="max-width:44rem" font-size="13" fill="currentColor">'
    f"<title>{programs} programs over {n} elements</title>"
    f"<desc>Each bar is one program of {BLOCK} lanes. The last has"
    f" {live[-1]} live and {BLOCK - live[-1]} masked lanes.</desc>"
)
for pid, count in enumerate(live):
    y, width, first = 24 * pid + 22, 240 * count / BLOCK, pid * BLOCK
    print(
        f'<text x="0" y="{y}">pid {pid}</text>'
        f'<rect x="46" y="{y - 13}" width="{width:.1f}" height="17"'
        ' fill="var(--book-live, #2f7d6b)"/>'
        f'<rect x="{46 + width:.1f}" y="{y - 13}" width="{240 - width:.1f}"'
        ' height="17" fill="var(--book-masked, #d9822b)"/>'
        f'<text x="52" y="{y}" fill="var(--book-text, #fff)">'
        f"{first} … {first + count - 1}</text>"
        f'<text x="294" y="{y}">{count} live</text>'
    )
    if count < BLOCK:
        print(f'<text x="294" y="{y + 18}">{BLOCK - count} masked</text>')
print("</svg>")
