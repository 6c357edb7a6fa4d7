"""The unmasked kernel on ordinary memory, each time in a fresh process."""

# /// script
# requires-python = ">=3.11"
# dependencies = ["torch", "triton", "numpy"]
# [tool.bookpress]
# timeout = 300
# varies = [
#   "had printed a right gradient",
#   "exit code 0, as if nothing were wrong",
#   "exit code 134, aborted",
#   "exit code 139, segmentation fault",
#   "hung, and was ended after 40 seconds",
#   "another exit code",
# ]
# fails = "crash"
# not-in-chapter-file = "It starts copies of its own file and has them crash."
# ///

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import torch

from triton_grad.device import DEVICE
from triton_grad.oracle import gelu_backward_oracle
from triton_grad.traps.gelu_backward_kernel_no_mask import (
    triton_gelu_backward_no_mask,
)

# By what subprocess returns; a shell shows 128 + the number of the signal.
ENDINGS = {
    0: "exit code 0, as if nothing were wrong",
    -6: "exit code 134, aborted",
    -11: "exit code 139, segmentation fault",
}
HUNG, OTHER = "hung, and was ended after 40 seconds", "another exit code"


def run_unmasked(n: int, tensors_before: int) -> None:
    # Kept alive, so that other memory lies behind x in every process.
    _made_before = [torch.empty(n) for _ in range(tensors_before)]
    torch.manual_seed(0)
    x, grad_output = (torch.randn(n).to(DEVICE) for _ in range(2))
    grad_input = triton_gelu_backward_no_mask(grad_output, x, BLOCK=1024)
    error = grad_input - gelu_backward_oracle(grad_output, x)
    print("right" if error.abs().max() < 1e-5 else "wrong", flush=True)


def ending_and_output(n: int, before: int) -> tuple[str, str]:
    command = [sys.executable, __file__, "unmasked", f"{n}", f"{before}"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=40
        )
    except subprocess.TimeoutExpired as hung:
        return HUNG, (hung.stdout or b"").decode().strip()
    return ENDINGS.get(done.returncode, OTHER), done.stdout.strip()


def tally(group: str, n: int, runs: int) -> None:
    with ThreadPoolExecutor(2) as two_at_a_time:
        ends = two_at_a_time.map(ending_and_output, [n] * runs, range(runs))
        endings, outputs = zip(*ends, strict=True)
    print(f"{group}runs:", runs)
    print(f"{group}had printed a right gradient:", outputs.count("right"))
    for ending in (*ENDINGS.values(), HUNG, OTHER):
        print(f"{group}{ending}:", endings.count(ending))


if "unmasked" in sys.argv:
    run_unmasked(int(sys.argv[-2]), int(sys.argv[-1]))
else:
    tally("", n=10000, runs=8)
    tally("n = 10239, ", n=10239, runs=4)
