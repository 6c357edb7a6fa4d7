"""One command: an op against its truth."""

# /// script
# requires-python = ">=3.11"
# dependencies = ["torch", "triton", "numpy", "rich"]
# [tool.bookpress]
# timeout = 600
# devices = ["interpreter"]
# self-contained = false
# ///

import subprocess
import sys

from triton_grad.check import main

OP = "triton_grad.examples.log_softmax_draft:draft_log_softmax"
# python -m triton_grad.check; so named, it is proven anew when that changes
command = ["-m", main.__module__, OP, "--oracle", "torch.log_softmax"]
command += ["--inputs", "rows cols", "-1"]
command += ["--dtypes", "float16", "bfloat16", "float32"]

run = subprocess.run(
    [sys.executable, *command], capture_output=True, text=True
)
print(run.stdout)
print(f"exit code: {run.returncode}")
