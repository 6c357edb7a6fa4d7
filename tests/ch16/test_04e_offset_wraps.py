"""Elements beyond 2**31: what a program counts, and where it then writes."""

from typing import Any

import pytest
import torch
import triton
import triton.language as tl

from triton_grad.device import DEVICE
from triton_grad.launch import launch_programs
from triton_grad.ops.square import square_forward_kernel
from triton_grad.traps.square_forward_kernel_32_bit_offset import (
    square_forward_kernel_32_bit_offset,
)


@triton.jit
def begin_kernel(pids_ptr, narrow_ptr, wide_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, 4)
    pids = tl.load(pids_ptr + offsets, mask=offsets < n)
    tl.store(narrow_ptr + offsets, pids * BLOCK, mask=offsets < n)
    wide = pids.to(tl.int64) * BLOCK
    tl.store(wide_ptr + offsets, wide, mask=offsets < n)


def test_a_product_of_32_bits_wraps_from_2_to_the_31_on() -> None:
    numbers = [2**23 - 1, 2**23, 2**23 + 1, 2**24]
    pids = torch.tensor(numbers, dtype=torch.int32, device=DEVICE)
    narrow, wide = (
        torch.zeros(4, dtype=torch.int64, device=DEVICE) for _ in range(2)
    )
    launch_programs(begin_kernel, pids, narrow, wide, BLOCK=256)
    assert wide.tolist() == [256 * number for number in numbers]
    wrapped = [(it + 2**31) % 2**32 - 2**31 for it in wide.tolist()]
    assert narrow.tolist() == wrapped
    assert narrow[0] == 2**31 - 256
    assert narrow[1] == -(2**31)


# In the tensor's middle a wrapped offset still lies in its memory.
@pytest.mark.gpu
@pytest.mark.skipif(DEVICE == "cpu", reason="a GPU holds 2³¹ elements")
@pytest.mark.parametrize(
    ("kernel", "right_beyond"),
    [
        (square_forward_kernel, True),
        (square_forward_kernel_32_bit_offset, False),
    ],
)
def test_the_last_elements_of_a_large_tensor(
    kernel: Any, right_beyond: bool
) -> None:
    """Where 2**31 elements lie before the tensors, nothing is forbidden."""
    beyond = 4096
    memory = torch.zeros(2**32 + beyond, dtype=torch.int8, device=DEVICE)
    memory[-beyond:] = 3
    result = torch.zeros_like(memory)
    n = 2**31 + beyond
    launch_programs(kernel, memory[-n:], result[-n:], BLOCK=1024)
    right = (result[-beyond:] == 9).all().item()
    assert right is right_beyond
