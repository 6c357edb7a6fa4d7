"""What one walk through memory meets in a transposed x and its cotangent."""

# /// script
# requires-python = ">=3.11"
# dependencies = ["torch", "triton", "numpy"]
# [tool.bookpress]
# not-in-chapter-file = "It draws a diagram for the page."
# ///

import torch


def indices_in_memory_order(tensor: torch.Tensor) -> list[str]:
    rows, columns = tensor.shape
    down, right = tensor.stride()
    slots = {
        i * down + j * right: f"{i},{j}"
        for i in range(rows)
        for j in range(columns)
    }
    return [slots[slot] for slot in sorted(slots)]


x = torch.empty(3, 2).T
grad_output = torch.empty(2, 3)
pairs = list(
    zip(
        indices_in_memory_order(x),
        indices_in_memory_order(grad_output),
        strict=True,
    )
)

print(
    '<svg viewBox="0 0 400 150" width="100%" role="img"'
    ' style="max-width:44rem" font-size="14" fill="currentColor">'
    "<title>Two tensors of one shape, two orders in memory</title>"
    "<desc>Slot by slot: "
    + "; ".join(f"x {a} beside grad_output {b}" for a, b in pairs)
    + ".</desc>"
    f'<text x="2" y="16">x, shape (2, 3), strides {x.stride()}</text>'
    '<text x="2" y="144">grad_output, shape (2, 3),'
    f" strides {grad_output.stride()}</text>"
)
for slot, (a, b) in enumerate(pairs):
    left, sign = 2 + 66 * slot, "=" if a == b else "≠"
    colour = "live, #2f7d6b" if a == b else "masked, #d9822b"
    for y, index in ((26, a), (92, b)):
        print(
            f'<rect x="{left}" y="{y}" width="62" height="32" rx="3"'
            f' fill="none" stroke="var(--book-{colour})" stroke-width="2"/>'
            f'<text x="{left + 31}" y="{y + 21}" text-anchor="middle">'
            f"[{index}]</text>"
        )
    print(f'<text x="{left + 31}" y="80" text-anchor="middle">{sign}</text>')
print("</svg>")
