"""What is promised of the numbers, and the worst error over a dense grid."""

# /// script
# requires-python = ">=3.11"
# dependencies = ["torch", "triton", "numpy"]
# [tool.bookpress]
# rtol = 1  # the worst errors: maths libraries differ in their last digits
# ///

import math
from itertools import groupby

from triton_grad.testing.measure import worst_errors
from triton_grad.testing.promises import INF, PROMISES, Promise

SPACE = "\N{NO-BREAK SPACE}"


def interval_of(row: Promise) -> str:
    if (row.low, row.high) == (-INF, INF):
        return "every x"
    low = "" if row.low == -INF else f"{row.low:g} ≤ "
    high = "" if row.high == INF else f" &lt; {row.high:g}"
    return f"{low}x{high}".replace("-", "−").replace(" ", SPACE)


def cells_of(row: Promise) -> list[str]:
    worst = worst_errors(row)
    promised = f"{row.ulp:g}{SPACE}ulp"
    # Rounded up. Behind a space the press compares it as a number.
    found = f" {math.ceil(100 * worst.ulp) / 100}{SPACE}ulp"
    if row.absolute:
        found = f"{promised}<br>+{SPACE}{worst.beyond:.1e}"
        promised += f"<br>+{SPACE}{row.absolute:.1e}"
    return [
        "<br>".join(str(it).removeprefix("torch.") for it in row.dtypes),
        f"{row.region}<br>{interval_of(row)}",
        promised,
        found,
        "yes" if worst.share <= 1 else "no",
        row.reason,
    ]


names = ("dtypes", "where", "promised", "worst here", "kept", "why not less")
head = "".join(f"<th>{name}</th>" for name in names)
# On a phone it scrolls; by the keyboard, once it has the focus.
print('<table tabindex="0" style="min-width: 34rem">')
print(f"<thead><tr>{head}</tr></thead><tbody>")
for group, rows in groupby(PROMISES, lambda row: (row.op, row.direction)):
    print(f'<tr><th colspan="{len(names)}">{", ".join(group)}</th></tr>')
    for row in rows:
        cells = "".join(f"<td>{cell}</td>" for cell in cells_of(row))
        print(f"<tr>{cells}</tr>")
print("</tbody></table>")
