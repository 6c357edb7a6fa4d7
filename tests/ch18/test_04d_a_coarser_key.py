"""A key can be an argument that the kernel does not use."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import triton
import triton.language as tl

from triton_grad.device import DEVICE


@triton.jit
def fill_kernel(y_ptr, n, size_class, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, 1.0, mask=offsets < n)


@pytest.mark.parametrize(
    ("sizes", "trials"),
    [([600, 601, 1023], 2), ([600, 601, 1023, 1024], 4), ([3, 5, 9], 6)],
)
def test_sizes_of_one_class_share_a_choice(
    timer: Callable[..., Any], sizes: list[int], trials: int
) -> None:
    timed = timer()
    configs = [triton.Config({"BLOCK": block}) for block in (32, 64)]
    tuned: Any = triton.autotune(configs, ["size_class"], do_bench=timed)(
        fill_kernel
    )
    for n in sizes:
        y = torch.zeros(n, device=DEVICE)
        tuned[lambda meta, n=n: (-(-n // meta["BLOCK"]),)](
            y, n, n.bit_length()
        )
        assert y.sum() == n
    assert len(timed.trials) == trials
