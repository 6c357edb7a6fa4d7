"""The command line: some checks alone, and a list of all."""

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

OP = "triton_grad.examples.log_softmax:log_softmax"
# python -m triton_grad.check; so named, it is proven anew when that changes
CHECK = [sys.executable, "-m", main.__module__]
arguments = [OP, "--oracle", "torch.log_softmax"]
arguments += ["--inputs", "rows cols", "-1"]


def show(*words: str) -> None:
    run = subprocess.run([*CHECK, *words], capture_output=True, text=True)
    print(run.stdout)
    print(f"exit code: {run.returncode}\n")


show(*arguments, "--checks", "values", "dtypes")
show("--list")
