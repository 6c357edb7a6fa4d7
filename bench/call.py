"""What a call of an op costs, beside the bare launch and PyTorch's own op.

On a GPU: the host's time per call at n = 2**12, where the launch is all there
is. On the interpreter: the time per call at n = 10**6, and over the bare
kernel's.
Medians; the table is printed last, and written to $OUT if that is set.
"""

import json
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
import triton
from torch import Tensor

from provenance import provenance, report_path
from triton_grad.device import DEVICE
from triton_grad.ops.gelu import (
    accurate_gelu_backward_kernel,
    accurate_gelu_forward_kernel,
    gelu,
    gelu_backward_op,
    gelu_forward_op,
)

Call = Callable[[], object]
ON_GPU = DEVICE == "cuda"
N = 2**12 if ON_GPU else 10**6
CALLS, ROUNDS = (200, 50) if ON_GPU else (1, 5)
BLOCK = 1024


def calls() -> dict[str, Call]:
    """Every way to compute gelu or its gradient, by name."""
    generator = torch.Generator().manual_seed(1)
    x, grad_output = (
        torch.randn(N, generator=generator).to(DEVICE) for _ in range(2)
    )
    y, leaf = torch.empty_like(x), x.clone().requires_grad_()
    forward: Any = accurate_gelu_forward_kernel
    backward: Any = accurate_gelu_backward_kernel
    grid = (triton.cdiv(N, BLOCK),)

    def forward_kernel(y: Tensor = y) -> None:
        forward[grid](x, y, N, BLOCK=BLOCK)

    def backward_kernel(y: Tensor = y) -> None:
        backward[grid](grad_output, x, y, N, BLOCK=BLOCK)

    def both(op: Callable[[Tensor], Tensor]) -> Call:
        return lambda: torch.autograd.grad(op(leaf), leaf, grad_output)

    ways: dict[str, Call] = {
        "forward, bare kernel": forward_kernel,
        "forward, gelu_forward_op": lambda: gelu_forward_op(x),
        "backward, bare kernel": backward_kernel,
        "backward, gelu_backward_op": lambda: gelu_backward_op(
            grad_output, x
        ),
    }
    if not ON_GPU:  # a launch takes a second, all around it next to nothing
        return ways
    return ways | {
        "forward, bare kernel and empty_like": lambda: forward_kernel(
            torch.empty_like(x)
        ),
        "forward, gelu": lambda: gelu(x),
        "forward, gelu, recorded": lambda: gelu(leaf),
        "forward, F.gelu": lambda: F.gelu(x),
        "forward, F.gelu, recorded": lambda: F.gelu(leaf),
        "backward, aten.gelu_backward": lambda: torch.ops.aten.gelu_backward(
            grad_output, x
        ),
        "forward and backward, gelu": both(gelu),
        "forward and backward, F.gelu": both(F.gelu),
    }


def seconds_per_call(call: Call) -> float:
    """One round's mean; the GPU's own work is waited for outside of it."""
    if ON_GPU:
        torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(CALLS):
        call()
    return (time.perf_counter() - start) / CALLS


def medians(named: dict[str, Call]) -> dict[str, float]:
    """Rounds of all calls in turn, so that a slow moment hits all alike."""
    for call in named.values():
        call()
    rounds = [
        {name: seconds_per_call(call) for name, call in named.items()}
        for _ in range(ROUNDS)
    ]
    return {
        name: statistics.median(one[name] for one in rounds) for name in named
    }


def host_times() -> dict[str, Any]:
    """What a call of each way costs the host."""
    return {
        "n": N,
        "microseconds": {
            name: round(seconds * 1e6, 2)
            for name, seconds in medians(calls()).items()
        },
    }


def main() -> None:
    times = host_times()
    facts = provenance("call.py", None)
    if "OUT" in os.environ:
        report = {"provenance": facts, **times}
        report_path("call").write_text(json.dumps(report, indent=2) + "\n")
    print(facts)
    print(f"{'n = ' + str(N):38} {'us/call':>10} {'of bare':>8}")
    for name, value in times["microseconds"].items():
        bare = times["microseconds"].get(name.split(",")[0] + ", bare kernel")
        ratio = f"{value / bare:8.2f}" if bare else " " * 8
        print(f"{name:38} {value:10.2f} {ratio}")


if __name__ == "__main__":
    main()
