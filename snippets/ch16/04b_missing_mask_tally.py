"""The unmasked kernel on ordinary memory, in eight fresh processes."""

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

HUNG = -1


def run_unmasked(tensors_before: int) -> None:
    # Kept alive, so that other memory lies behind x in every process.
    _made_before = [torch.empty(10000) for _ in range(tensors_before)]
    torch.manual_seed(0)
    x = torch.randn(10000).to(DEVICE)
    grad_output = torch.randn(10000).to(DEVICE)
    grad_input = triton_gelu_backward_no_mask(grad_output, x, BLOCK=1024)
    right = gelu_backward_oracle(grad_output, x)
    diff = (grad_input - right).abs().max().item()
    print("right" if diff < 1e-5 else "wrong", flush=True)


def run_in_a_fresh_process(tensors_before: int) -> tuple[int, str]:
    command = [sys.executable, __file__, "unmasked", str(tensors_before)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=40
        )
    except subprocess.TimeoutExpired as hung:
        return HUNG, (hung.stdout or b"").decode().strip()
    code = done.returncode
    return code if code >= 0 else 128 - code, done.stdout.strip()


if "unmasked" in sys.argv:
    run_unmasked(int(sys.argv[-1]))
else:
    with ThreadPoolExecutor(2) as two_at_a_time:
        ends = list(two_at_a_time.map(run_in_a_fresh_process, range(8)))
    codes = [code for code, _ in ends]
    said = [line for _, line in ends]
    print("runs:", len(ends))
    print("had printed a right gradient:", said.count("right"))
    print("exit code 0, as if nothing were wrong:", codes.count(0))
    print("exit code 134, aborted:", codes.count(134))
    print("exit code 139, segmentation fault:", codes.count(139))
    print("hung, and was ended after 40 seconds:", codes.count(HUNG))
    others = [code for code in codes if code not in (0, 134, 139, HUNG)]
    print("another exit code:", len(others))
