"""Where kernels run: on a GPU, or on the CPU by Triton's interpreter.

`@triton.jit` decides when a kernel is *defined* whether the interpreter will
run it: `TRITON_INTERPRET` has to be set before a kernel's module is imported.
What Triton itself defines so, such as `tl.sum` and `tl.cdiv`, it defines when
triton is imported: a kernel that calls it needs the variable before that.

Where there is no GPU, importing this module sets the variable to 1, unless it
is set already.
"""

import os

import torch

if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")

# The words that Triton reads as "on", in any case.
INTERPRETED = os.environ.get("TRITON_INTERPRET", "0").lower() in (
    "1",
    "true",
    "on",
    "yes",
    "y",
)

# With no GPU the answer is "cpu" even where a user forbade the interpreter:
# the launch then says what to set, which "cuda" could not.
DEVICE = "cuda" if torch.cuda.is_available() and not INTERPRETED else "cpu"
