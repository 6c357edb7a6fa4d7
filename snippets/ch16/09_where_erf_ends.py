"""Far to the left: Φ by erf, Φ by the tail, and PyTorch, against fp64."""

# /// script
# requires-python = ">=3.11"
# dependencies = ["torch", "triton", "numpy"]
# [tool.bookpress]
# rtol = 0.9  # rounding errors, relative to values that nearly vanish
# ///

import torch
import torch.nn.functional as F

from triton_grad.device import DEVICE
from triton_grad.ops.gelu import gelu
from triton_grad.ops.gelu_erf import triton_gelu_forward
from triton_grad.oracle import gelu_oracle

x = torch.tensor([-3.0, -5.5, -7.0, -torch.inf]).to(DEVICE)
truth = gelu_oracle(x)
for name, op in (
    ("by erf", triton_gelu_forward),
    ("F.gelu", F.gelu),
    ("gelu", gelu),
):
    for at, got, exact in zip(x, op(x), truth, strict=True):
        if at.isinf():
            print(f"{name} at {at:g}:", got.item())
        else:
            off = abs(got.double() / exact - 1)
            print(f"{name} at {at:g}, off by:", f"{off:.1e}")
