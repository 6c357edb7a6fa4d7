"""What check_op says of every trap, and of right ops, on this device.

On a GPU the kernels are compiled and nobody watches what they touch: the
figure shows what is left of the diagnosis then. The table is printed last,
and written to $OUT/museum.json if that is set.
"""

import json
import os
import platform
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from rich.console import Console
from rich.table import Table

from triton_grad import gelu, square
from triton_grad.device import DEVICE
from triton_grad.testing.check import check_op
from triton_grad.testing.museum import (
    EXHIBITS,
    layer_norm_reference,
    softmax_reference,
)
from triton_grad.testing.report import Report

RIGHT: list[tuple[str, Any, Any, tuple[Any, ...]]] = [
    ("triton_grad.gelu", gelu, F.gelu, ("...",)),
    ("triton_grad.square", square, torch.square, ("...",)),
    ("F.gelu", F.gelu, F.gelu, ("...",)),
    ("F.silu", F.silu, F.silu, ("...",)),
    ("torch.tanh", torch.tanh, torch.tanh, ("...",)),
    ("torch.square", torch.square, torch.square, ("...",)),
    ("softmax", softmax_reference, softmax_reference, ("rows cols",)),
    (
        "layer_norm",
        layer_norm_reference,
        layer_norm_reference,
        ("rows cols", 1e-5),
    ),
]


def failed(report: Report) -> str:
    return ", ".join(f"{it.check} ({it.note})" for it in report.failed)


def measure() -> list[dict[str, Any]]:
    """One row an op: what was expected, what was said, how long it took."""
    rows: list[dict[str, Any]] = []
    jobs = [
        (name, op, oracle, inputs, {}, None)
        for name, op, oracle, inputs in RIGHT
    ]
    jobs += [
        (it.name, it.op, it.oracle, it.inputs, it.options, it)
        for it in EXHIBITS
    ]
    for name, op, oracle, inputs, options, exhibit in jobs:
        start = time.perf_counter()
        report = check_op(op, oracle, inputs, **options)
        diagnosis = report.diagnosis
        rows.append(
            {
                "op": name,
                "needs": exhibit.needs if exhibit else "",
                "cause": exhibit.cause if exhibit else "",
                "passed": report.passed,
                "diagnosis": diagnosis.name if diagnosis else "",
                "failed": failed(report),
                "seconds": round(time.perf_counter() - start, 1),
            }
        )
        print(f"{name}: {rows[-1]['failed'] or 'passed'}", flush=True)
    return rows


def main() -> None:
    rows = measure()
    traps = [row for row in rows if row["cause"]]
    found = [row for row in traps if not row["passed"]]
    named = [row for row in found if row["diagnosis"] == row["cause"]]
    on_gpu = DEVICE == "cuda"
    result = {
        "device": torch.cuda.get_device_name() if on_gpu else "interpreter",
        "gpus": torch.cuda.device_count(),
        "torch": torch.__version__,
        "triton": version("triton"),
        "python": platform.python_version(),
        "date": datetime.now(UTC).date().isoformat(),
        "traps": len(traps),
        "found": len(found),
        "named rightly": len(named),
        "rows": rows,
    }
    if out := os.environ.get("OUT"):
        path = Path(out, "museum.json")
        path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    table = Table("op", "cause", "said", "s")
    for row in rows:
        said = row["diagnosis"] or ("passed" if row["passed"] else "no cause")
        table.add_row(row["op"], row["cause"], said, str(row["seconds"]))
    Console(width=110).print(table)
    print({key: it for key, it in result.items() if key != "rows"})


if __name__ == "__main__":
    main()
