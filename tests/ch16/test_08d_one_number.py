"""One number's way: rounded, loaded as it is, computed, rounded again."""

import numpy as np
import pytest
import torch

from triton_grad.device import DEVICE
from triton_grad.launch import launch_programs
from triton_grad.ops.gelu_erf import gelu_backward_kernel
from triton_grad.oracle import gelu_backward_oracle


def test_it_is_rounded_twice() -> None:
    stored = torch.tensor([1.2345678]).half().to(DEVICE)
    assert stored.item() == float(np.float16(1.2345678)) == 1.234375
    ones = torch.ones_like(stored)

    wide = torch.empty(1, device=DEVICE)
    narrow = torch.empty(1, dtype=torch.float16, device=DEVICE)
    launch_programs(gelu_backward_kernel, ones, stored, wide, BLOCK=16)
    launch_programs(gelu_backward_kernel, ones, stored, narrow, BLOCK=16)
    truth = gelu_backward_oracle(ones, stored).item()
    assert wide.item() == pytest.approx(truth, abs=2e-7)
    assert narrow.item() == float(np.float16(wide.item()))
    assert narrow.item() != wide.item()
