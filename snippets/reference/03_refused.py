"""What no op takes, and what it says to each."""

# /// script
# requires-python = ">=3.11"
# dependencies = ["torch", "triton", "numpy"]
# ///

from html import escape
from typing import Any

import torch

from triton_grad.testing.cases import OPS, OpCase

given: dict[str, Any] = {
    "int64": torch.ones(2, dtype=torch.int64),
    "bool": torch.ones(2, dtype=torch.bool),
    "complex": torch.ones(2, dtype=torch.complex64),
    "float8": torch.ones(2).to(torch.float8_e4m3fn),
    "sparse": torch.ones(2).to_sparse(),
    "nested": torch.nested.nested_tensor(
        [torch.ones(2), torch.ones(3)], layout=torch.jagged
    ),
    "a list": [1.0, 2.0],
}


def said_by(op: OpCase, value: Any) -> str:
    try:
        op.apply(value)
    except TypeError as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"


head = "".join(f"<th>{op.name} raises</th>" for op in OPS)
print(f"<table><thead><tr><th>given</th>{head}</tr></thead><tbody>")
for kind, value in given.items():
    first, *others = [said_by(op, value) for op in OPS]
    cells = [kind, escape(first)]
    for op, said in zip(OPS[1:], others, strict=True):
        same = said == first.replace(OPS[0].name, op.name)
        cells.append("the same" if same else escape(said))
    print("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
print("</tbody></table>")
