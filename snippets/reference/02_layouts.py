"""Every layout of x, beside every layout of grad_output."""

# /// script
# requires-python = ">=3.11"
# dependencies = ["torch", "triton", "numpy"]
# ///

import torch

from triton_grad.device import DEVICE
from triton_grad.testing.cases import OPS, OpCase
from triton_grad.testing.layouts import LAYOUT_VALUES, LAYOUTS
from triton_grad.testing.measure import keeps_promises

torch.manual_seed(0)
x_memory = (4 * torch.rand(LAYOUT_VALUES) - 3).to(DEVICE)
grad_memory = (2 * torch.rand(LAYOUT_VALUES) - 1).to(DEVICE)


def tried(op: OpCase, layout: str) -> list[str]:
    """What held of one layout of x, in cells."""
    before = torch.stack([x_memory, grad_memory])
    x = LAYOUTS[layout](x_memory).requires_grad_()
    y = op.apply(x)
    value = keeps_promises(op.name, "forward", x, y, op.oracle(x))
    formats = [y.stride() == op.reference(x).stride()]
    gradients = []
    for lay_out in LAYOUTS.values():
        grad_output = lay_out(grad_memory)
        (grad,) = torch.autograd.grad(y, x, grad_output, retain_graph=True)
        truth = op.backward_oracle(grad_output, x)
        gradients.append(keeps_promises(op.name, "backward", x, grad, truth))
        # F.gelu's own backward refuses some of these: beside a product's.
        formats.append(grad.stride() == (grad_output * x).stride())
    same = torch.equal(before, torch.stack([x_memory, grad_memory]))
    told = [f"{sum(it)} of {len(it)}" for it in (gradients, formats)]
    return ["yes" if value else "no", *told, "no" if same else "yes"]


names = ("op", "layout of x", "value right", "gradient right")
names += ("memory format", "inputs written")
head = "".join(f"<th>{name}</th>" for name in names)
# On a phone it scrolls; by the keyboard, once it has the focus.
print('<table tabindex="0" style="min-width: 30rem">')
print(f"<thead><tr>{head}</tr></thead><tbody>")
for op in OPS:
    for layout in LAYOUTS:
        cells = [f"<code>{op.name}</code>", layout, *tried(op, layout)]
        print("<tr>" + "".join(f"<td>{it}</td>" for it in cells) + "</tr>")
print("</tbody></table>")
