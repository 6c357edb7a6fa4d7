"""What check_op says of every trap, and of right ops, on this device.

On a GPU the kernels are compiled and nobody watches what they touch: the
figure shows what is left of the diagnosis then. The table is printed last,
and written to $OUT/museum.json if that is set.
"""

import json
import os
import platform
import time
from concurrent.futures import ThreadPoolExecutor
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

AT_ONCE = 8
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


def measured(job: tuple[Any, ...]) -> dict[str, Any]:
    """What was expected of an op, what was said, how long it took."""
    name, op, oracle, inputs, options, exhibit = job
    start = time.perf_counter()
    report = check_op(op, oracle, inputs, **options)
    diagnosis = report.diagnosis
    row = {
        "op": name,
        "needs": exhibit.needs if exhibit else "",
        "cause": exhibit.cause if exhibit else "",
        "passed": report.passed,
        "diagnosis": diagnosis.name if diagnosis else "",
        "failed": failed(report),
        "seconds": round(time.perf_counter() - start, 1),
    }
    print(f"{name}: {row['failed'] or 'passed'}", flush=True)
    return row


def measure() -> list[dict[str, Any]]:
    """One row an op."""
    jobs = [(*it, {}, None) for it in RIGHT]
    jobs += [
        (it.name, it.op, it.oracle, it.inputs, it.options, it)
        for it in EXHIBITS
    ]
    # Each keeps the cores of a machine without a GPU busy by itself.
    with ThreadPoolExecutor(AT_ONCE if DEVICE == "cuda" else 1) as pool:
        return list(pool.map(measured, jobs))


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
