"""How a trap's kernel is launched that is no elementwise one: rightly."""

from typing import Any

import numpy
import torch
from torch import Tensor
from triton.runtime import KernelInterface

from triton_grad.launch import INTERPRETER_LOCK, is_interpreted


def launch_grid(
    kernel: KernelInterface[Any],
    grid: tuple[int, ...],
    tensor: Tensor,
    *others: Any,
    **constants: Any,
) -> None:
    """Launch on the first tensor's device; nothing where the grid is empty.

    Args:
        kernel: Called as `kernel(tensor, *others, **constants)`.
        grid: Programs along each axis.
        tensor: The first argument.
        *others: Further tensors, sizes and strides.
        **constants: What the kernel is compiled for.
    """
    if 0 in grid:
        return
    programs = kernel[grid]
    if is_interpreted(kernel):
        with INTERPRETER_LOCK, numpy.errstate(all="ignore"):
            programs(tensor, *others, **constants)
    else:
        with torch.cuda.device_of(tensor):
            programs(tensor, *others, **constants)


def block_of(cols: int) -> int:
    """Lanes for a whole row: the next power of two."""
    return 1 << max(cols - 1, 0).bit_length()
