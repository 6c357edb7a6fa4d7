"""Ops of PyTorch, each held to itself in float64."""

# /// script
# requires-python = ">=3.11"
# dependencies = ["torch", "triton", "numpy", "rich"]
# [tool.bookpress]
# timeout = 600
# devices = ["interpreter"]
# self-contained = false
# ///

import torch
import torch.nn.functional as F
from torch import Tensor

from triton_grad.testing.check import check_op
from triton_grad.testing.report import Verdict


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], weight, bias)


OPS = (
    (F.gelu, ("...",)),
    (F.silu, ("...",)),
    (torch.square, ("...",)),
    (torch.tanh, ("...",)),
    (torch.softmax, ("rows cols", -1)),
    (layer_norm, ("rows cols", "cols", "cols")),
)

names = ("op", "inputs", "right", "wrong", "known", "why")
head = "".join(f"<th>{name}</th>" for name in names)
# On a phone it scrolls; by the keyboard, once it has the focus.
print('<table tabindex="0" style="min-width: 34rem">')
print(f"<thead><tr>{head}</tr></thead><tbody>")
for op, inputs in OPS:
    report = check_op(op, op, inputs)
    found = [it.verdict for it in report.results]
    known = [it for it in report.results if it.verdict is Verdict.KNOWN]
    cells = [f"<code>{op.__name__}</code>", ", ".join(map(str, inputs))]
    cells += [str(found.count(Verdict.RIGHT)), str(len(report.failed))]
    cells.append(", ".join(it.check for it in known) or "none")
    cells.append("; ".join(it.note for it in known))
    print("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
print("</tbody></table>")
