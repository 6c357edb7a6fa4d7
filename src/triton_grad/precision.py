"""Which precision an op computes in, whatever precision it stores in."""

import torch
import triton
import triton.language as tl


@triton.jit
def upcast(x):
    """fp16 and bf16 to fp32; fp32 and fp64 stay as they are.

    No digit is lost, but for bf16's subnormal numbers on the interpreter,
    which widens them wrongly.
    """
    return x.to(tl.float64 if x.dtype == tl.float64 else tl.float32)


def compute_dtype(dtype: torch.dtype) -> torch.dtype:
    """The dtype that `upcast` computes in, for code outside a kernel."""
    return torch.float64 if dtype == torch.float64 else torch.float32
