"""Tensors that end where memory ends, so that no wrong access goes unseen.

Past the end of an ordinary tensor there is mostly more of the heap: a kernel
that forgets its mask reads and writes there, and crashes later or never.
"""

import ctypes
import mmap

import torch
from torch import Tensor

# Wider than one page, so that a whole block too far still lands in it.
GUARD_BYTES = 256 * mmap.PAGESIZE
PROT_NONE = 0


def guarded(tensor: Tensor) -> Tensor:
    """Copy a CPU tensor so that its last byte lies before forbidden memory.

    Any read or write within `GUARD_BYTES` past the end is a segmentation
    fault (exit code 139 in a shell, -11 in `subprocess`), every time.

    Args:
        tensor: A CPU tensor of any shape and dtype.

    Returns:
        A contiguous copy of the values, without history. Its memory is
        unmapped when the last tensor that uses it is gone.

    Raises:
        ValueError: The tensor is not on the CPU.
    """
    if tensor.device.type != "cpu":
        raise ValueError(
            f"guarded() needs a CPU tensor, got one on {tensor.device}"
        )
    byte_count = tensor.numel() * tensor.element_size()
    memory, size = map_before_guard(byte_count)
    # frombuffer keeps the mapping alive as long as the tensor's storage.
    page_bytes = torch.frombuffer(memory, dtype=torch.uint8, count=size)
    at_the_edge = page_bytes[size - byte_count :].view(tensor.dtype)
    return at_the_edge.view(tensor.shape).copy_(tensor.detach())


def map_before_guard(byte_count: int) -> tuple[mmap.mmap, int]:
    """Map whole pages for byte_count bytes, then a guard behind them."""
    size = max(1, -(-byte_count // mmap.PAGESIZE)) * mmap.PAGESIZE
    # Private: a forked child that writes must not write here.
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    memory = mmap.mmap(-1, size + GUARD_BYTES, flags)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    libc = ctypes.CDLL(None, use_errno=True)
    guard = ctypes.c_void_p(start + size)
    if libc.mprotect(guard, ctypes.c_size_t(GUARD_BYTES), PROT_NONE) != 0:
        raise OSError(ctypes.get_errno(), "mprotect refused the guard page")
    return memory, size
