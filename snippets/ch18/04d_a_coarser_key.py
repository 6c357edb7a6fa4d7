"""A key that is alike for sizes that are nearly alike."""

from collections.abc import Callable
from typing import Any

import torch
import triton
import triton.language as tl

from triton_grad.device import DEVICE
from triton_grad.ops.gelu_erf import normal_cdf
from triton_grad.precision import upcast

CHOICES = [triton.Config({"BLOCK": block}) for block in (128, 256)]
trials = 0


def timer(
    run: Callable[[], None], quantiles: tuple[float, ...]
) -> list[float]:
    global trials
    trials += 1
    return [1.0] * len(quantiles)


# Nothing in the kernel uses n_bits: it is there for the key.
@triton.autotune(CHOICES, key=["n_bits"], do_bench=timer)
@triton.jit(do_not_specialize=["n_bits"])
def gelu_kernel(x_ptr, y_ptr, n, n_bits, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = upcast(tl.load(x_ptr + offsets, mask=mask))
    tl.store(y_ptr + offsets, x * normal_cdf(x), mask=mask)


def launch(n: int) -> int:
    """How many trials a call makes."""
    global trials
    trials = 0
    x = torch.randn(n).to(DEVICE)
    y = torch.empty_like(x)
    kernel: Any = gelu_kernel
    kernel[lambda meta: (-(-n // meta["BLOCK"]),)](x, y, n, n.bit_length())
    return trials


print("first call, n = 1000:", launch(1000))
print("eight other sizes:", sum(launch(n) for n in range(1001, 1009)))
print("n = 2000:", launch(2000))
