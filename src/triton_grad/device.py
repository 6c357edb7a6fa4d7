"""Where kernels run: on a GPU, or on the CPU by Triton's interpreter.

`@triton.jit` decides when a kernel is *defined* whether the interpreter will
run it, so the variable has to stand before triton is imported.
"""

import os

import torch

if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")

INTERPRETED = os.environ.get("TRITON_INTERPRET", "0") == "1"

# With no GPU the answer is "cpu" even where a user forbade the interpreter:
# the launch then says what to set, which "cuda" could not.
DEVICE = "cuda" if torch.cuda.is_available() and not INTERPRETED else "cpu"
