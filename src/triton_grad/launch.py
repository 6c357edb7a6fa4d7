"""What all elementwise ops share: checks, layout, grid, launch."""

from typing import Any

import torch
import triton
from torch import Tensor
from triton.runtime import KernelInterface

FLOAT_DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def launch_elementwise(
    op: str, kernel: KernelInterface[Any], *inputs: Tensor, BLOCK: int
) -> Tensor:
    """Run an elementwise kernel over its inputs into a new tensor.

    The kernel is called as `kernel(*inputs, output, n, BLOCK=BLOCK)`, one
    program for every `BLOCK` elements. It may walk memory in order: every
    tensor it gets is contiguous. The inputs are only read.

    Args:
        op: The op's name, for error messages.
        kernel: The Triton kernel.
        *inputs: Tensors of one shape, dtype and device: float16, bfloat16,
            float32 or float64, in any layout.
        BLOCK: Elements a program computes; a power of two.

    Returns:
        A contiguous tensor of the inputs' shape, dtype and device.

    Raises:
        TypeError: An input is no tensor, or not of these dtypes.
        ValueError: The inputs differ in dtype, shape or device, or `BLOCK`
            is not a power of two.
        RuntimeError: The kernel cannot run where the tensors lie.
    """
    check_inputs(op, inputs)
    check_block(op, BLOCK)
    check_device(op, kernel, inputs[0].device)
    dense = [in_memory_order(tensor) for tensor in inputs]
    output = torch.empty_like(dense[0])
    launch_programs(kernel, *dense, output, BLOCK=BLOCK)
    return output


def launch_programs(
    kernel: KernelInterface[Any], *tensors: Tensor, BLOCK: int
) -> None:
    """Launch a program for every BLOCK elements, on the tensors as they are.

    Args:
        kernel: Called as `kernel(*tensors, n, BLOCK=BLOCK)`.
        *tensors: Inputs, then the output, whose number of elements is n.
        BLOCK: Elements a program computes.
    """
    n = tensors[-1].numel()
    if n == 0:  # a GPU refuses an empty grid
        return
    with torch.cuda.device_of(tensors[-1]):
        kernel[(triton.cdiv(n, BLOCK),)](*tensors, n, BLOCK=BLOCK)


def in_memory_order(tensor: Tensor) -> Tensor:
    """The tensor itself if memory holds its elements in order, or a copy."""
    if tensor._is_zerotensor():  # autograd's zeros: there is no memory
        return tensor.clone(memory_format=torch.contiguous_format)
    # A negated view can be contiguous and still hold the other sign.
    return tensor.contiguous().resolve_neg()


def check_inputs(op: str, inputs: tuple[Tensor, ...]) -> None:
    """Refuse what an elementwise kernel would read wrongly."""
    for tensor in inputs:
        if not isinstance(tensor, Tensor):
            kind = type(tensor).__name__
            raise TypeError(f"{op}() needs a tensor, got {kind}")
        if tensor.dtype not in FLOAT_DTYPES:
            raise TypeError(
                f"{op}() needs a floating-point tensor, got {tensor.dtype}"
                " (accepted: float16, bfloat16, float32, float64)"
            )
    alike = {
        "dtype": [str(tensor.dtype) for tensor in inputs],
        "shape": [str(tuple(tensor.shape)) for tensor in inputs],
        "device": [str(tensor.device) for tensor in inputs],
    }
    for what, values in alike.items():
        if len(set(values)) > 1:
            seen = " and ".join(values)
            raise ValueError(
                f"{op}() needs tensors of one {what}, got {seen}"
            )


def check_block(op: str, block: int) -> None:
    """Refuse on the interpreter what `tl.arange` refuses on a GPU."""
    if block < 1 or block & (block - 1):
        raise ValueError(f"{op}() needs BLOCK a power of two, got {block}")


def check_device(
    op: str, kernel: KernelInterface[Any], device: torch.device
) -> None:
    """Refuse a tensor that the kernel, as it was defined, cannot reach."""
    compiled = isinstance(kernel, triton.JITFunction)
    if device.type == "cuda" or (device.type == "cpu" and not compiled):
        return
    raise RuntimeError(
        f"{op}() needs a CUDA tensor, got one on {device}; to run on the CPU"
        " set TRITON_INTERPRET=1 before triton is imported"
    )
