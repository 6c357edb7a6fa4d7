"""The library's upcast keeps every number of 16 bits."""

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

from triton_grad.device import DEVICE
from triton_grad.launch import launch_programs
from triton_grad.precision import upcast


@triton.jit
def upcast_kernel(x_ptr, wide_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    wide = upcast(tl.load(x_ptr + offsets, mask=mask))
    tl.store(wide_ptr + offsets, wide, mask=mask)


def upcast_all(dtype: torch.dtype) -> np.ndarray:
    bits = torch.arange(-(2**15), 2**15, dtype=torch.int16)
    wide = torch.empty(2**16, device=DEVICE)
    launch_programs(
        upcast_kernel, bits.view(dtype).to(DEVICE), wide, BLOCK=4096
    )
    return wide.cpu().numpy()


def test_every_fp16_number() -> None:
    bits = np.arange(-(2**15), 2**15).astype(np.int16)
    np.testing.assert_array_equal(
        upcast_all(torch.float16), bits.view(np.float16).astype(np.float32)
    )


# A bf16 number is the upper half of an fp32 number.
@pytest.mark.parametrize(
    "subnormal",
    [
        False,
        pytest.param(
            True,
            marks=pytest.mark.xfail(
                DEVICE == "cpu",
                reason="the interpreter widens subnormal numbers wrongly",
                strict=True,
            ),
        ),
    ],
)
def test_every_bf16_number(subnormal: bool) -> None:
    upper = np.arange(-(2**15), 2**15).astype(np.int16).view(np.uint16)
    truth = (upper.astype(np.uint32) << 16).view(np.float32)
    small = (np.abs(truth) > 0) & (np.abs(truth) < 2.0**-126)
    chosen = small if subnormal else ~small
    np.testing.assert_array_equal(
        upcast_all(torch.bfloat16)[chosen], truth[chosen]
    )
