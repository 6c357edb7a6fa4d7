"""A forward launch that takes x as it lies in memory.

Fails: wrong number
Symptom: Right for a transposed x, silently wrong for x[:, ::2].
Cause: The kernel walks memory in order; a slice has gaps there.
Caught by: An x with gaps in memory.
Missed by: Contiguous and transposed inputs.
"""

import torch
from torch import Tensor

from triton_grad.launch import launch_programs
from triton_grad.ops.gelu_erf import gelu_forward_kernel


def triton_gelu_forward_no_contiguous(x: Tensor, BLOCK: int = 1024) -> Tensor:
    """Launch the right kernel on x as it is."""
    # empty_like keeps the strides of a transposed x, so that memory order
    # is the same on both sides; a slice has gaps, and its result has none.
    y = torch.empty_like(x)
    launch_programs(gelu_forward_kernel, x, y, BLOCK=BLOCK)
    return y
