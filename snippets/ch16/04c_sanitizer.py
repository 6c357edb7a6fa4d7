"""The unmasked kernel under NVIDIA's compute-sanitizer."""

# /// script
# requires-python = ">=3.11"
# dependencies = ["torch", "triton", "numpy"]
# [tool.bookpress]
# timeout = 300
# devices = ["cuda"]
# not-in-chapter-file = "It needs a GPU and NVIDIA's compute-sanitizer."
# ///

import os
import re
import shutil
import subprocess
import sys

import torch

from triton_grad.device import DEVICE
from triton_grad.traps.gelu_backward_kernel_no_mask import (
    triton_gelu_backward_no_mask,
)


def run_unmasked() -> None:
    torch.manual_seed(0)
    x = torch.randn(10000).to(DEVICE)
    grad_output = torch.randn(10000).to(DEVICE)
    triton_gelu_backward_no_mask(grad_output, x, BLOCK=1024)
    torch.cuda.synchronize()


def run_under_the_sanitizer() -> str:
    tool = shutil.which("compute-sanitizer")
    if tool is None:
        raise SystemExit("compute-sanitizer is missing: not on the PATH")
    # One allocation a tensor, or the allocator's large piece hides the end.
    no_cache = {**os.environ, "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    command = [tool, "--tool", "memcheck", sys.executable, __file__]
    done = subprocess.run(
        [*command, "unmasked"], env=no_cache, capture_output=True, text=True
    )
    return done.stdout + done.stderr


if "unmasked" in sys.argv:
    run_unmasked()
else:
    report = run_under_the_sanitizer()
    finding = re.search(r"Invalid __global__ .*", report)
    total = re.search(r"ERROR SUMMARY: (\d+)", report)
    if finding is None or total is None:
        raise SystemExit(f"compute-sanitizer found nothing:\n{report}")
    print("first finding:", finding.group())
    print("errors:", total.group(1))
