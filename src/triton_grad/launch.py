"""What all elementwise ops share: checks, layout, grid, launch."""

import threading
from typing import Any

import numpy
import torch
from torch import Tensor
from torch._prims_common import compute_elementwise_output_strides
from triton.runtime import KernelInterface
from triton.runtime.interpreter import InterpretedFunction

FLOAT_DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)

# The interpreter keeps the program that it is running in global variables.
INTERPRETER_LOCK = threading.Lock()


def launch_elementwise(
    op: str, kernel: KernelInterface[Any], *inputs: Tensor, BLOCK: int
) -> Tensor:
    """Run an elementwise kernel over its inputs into a new tensor.

    The kernel is called as `kernel(*inputs, output, n, BLOCK=BLOCK)`, one
    program for every `BLOCK` elements. It may walk memory in order: every
    tensor it gets is dense, and all lie in one order. The inputs are only
    read. Nothing is recorded for autograd.

    Args:
        op: The op's name, for error messages.
        kernel: The Triton kernel.
        *inputs: Tensors of one shape, dtype and device: float16, bfloat16,
            float32 or float64, in any layout.
        BLOCK: Elements a program computes; a power of two.

    Returns:
        A tensor of the inputs' shape, dtype and device, in the memory format
        that PyTorch's own elementwise ops would give it.

    Raises:
        TypeError: An input is no tensor, or not of these dtypes, or not
            strided (sparse, nested).
        ValueError: The inputs differ in dtype, shape or device, or `BLOCK`
            is not a power of two.
        RuntimeError: The kernel cannot run where the tensors lie.
    """
    check_inputs(op, inputs)
    check_block(op, BLOCK)
    check_device(op, kernel, inputs[0].device)
    output = empty_result(inputs)
    ordered = [in_order_of(output, tensor) for tensor in inputs]
    if is_interpreted(kernel) and output.dtype == torch.bfloat16:
        launch_in_float32(kernel, *ordered, output, BLOCK=BLOCK)
    else:
        launch_programs(kernel, *ordered, output, BLOCK=BLOCK)
    return output


def launch_programs(
    kernel: KernelInterface[Any], *tensors: Tensor, BLOCK: int
) -> None:
    """Launch a program for every BLOCK elements, on the tensors as they are.

    Args:
        kernel: Called as `kernel(*tensors, n, BLOCK=BLOCK)`, on a GPU with
            `num_warps` besides.
        *tensors: Inputs, then the output, whose number of elements is n.
        BLOCK: Elements a program computes.
    """
    output = tensors[-1]
    n, warps = output.numel(), warps_of(output, BLOCK)
    if n == 0:  # a GPU refuses an empty grid
        return
    # Not triton.cdiv, whose call costs a tenth of the launch.
    programs = kernel[(-(-n // BLOCK),)]
    if is_interpreted(kernel):
        # numpy warns of overflow and of nan, which a GPU computes in silence.
        with INTERPRETER_LOCK, numpy.errstate(all="ignore"):
            programs(*tensors, n, BLOCK=BLOCK)
    else:
        with torch.cuda.device_of(output):
            programs(*tensors, n, BLOCK=BLOCK, num_warps=warps)


def warps_of(output: Tensor, BLOCK: int) -> int:
    """How many warps a program gets: the fastest in chapter 18's sweep.

    In 16 bits the arithmetic is the limit, and a thread with 32 elements has
    the most of it under way; else it is the memory, and 8 are enough.
    """
    elements = 32 if output.element_size() == 2 else 8
    return min(max(BLOCK // (32 * elements), 1), 16)


def launch_in_float32(
    kernel: KernelInterface[Any], *tensors: Tensor, BLOCK: int
) -> None:
    """Launch on float32 copies, and round the last of them into the output.

    The interpreter cuts float32 off where a GPU rounds it to the nearest
    bfloat16, and misreads bfloat16's subnormal numbers. PyTorch does neither.
    """
    *inputs, output = tensors
    wide = torch.empty_like(output, dtype=torch.float32)
    exact = [tensor.float() for tensor in inputs]
    launch_programs(kernel, *exact, wide, BLOCK=BLOCK)
    output.copy_(wide)


def is_interpreted(kernel: KernelInterface[Any]) -> bool:
    """Whether the kernel was defined for the interpreter."""
    return isinstance(kernel, InterpretedFunction)


def empty_result(inputs: tuple[Tensor, ...]) -> Tensor:
    """An uninitialized tensor, laid out as PyTorch lays out such a result.

    It is dense. It has the memory format of its inputs if these agree and
    are dense; otherwise their order of dimensions, the first input's before
    the second's.
    """
    first, *others = inputs
    for memory_format in (torch.contiguous_format, torch.channels_last):
        if all(
            tensor.is_contiguous(memory_format=memory_format)
            for tensor in inputs
        ):
            # Not first's own strides: those of size 1 may be any number.
            return torch.empty_like(first, memory_format=memory_format)
    if all(tensor.stride() == first.stride() for tensor in others):
        # What comes next says the same, slowly.
        return torch.empty_like(first)
    strides = compute_elementwise_output_strides(*inputs)
    return torch.empty_strided(
        first.shape, strides, dtype=first.dtype, device=first.device
    )


def in_order_of(output: Tensor, tensor: Tensor) -> Tensor:
    """The tensor if memory holds it in the output's order, or a copy."""
    in_order = tensor.stride() == output.stride() or (
        tensor.is_contiguous() and output.is_contiguous()
    )
    as_it_is = (
        in_order
        # A negated view holds the other sign, autograd's zeros no memory.
        and not tensor.is_neg()
        and not tensor._is_zerotensor()
    )
    return tensor if as_it_is else torch.empty_like(output).copy_(tensor)


def check_inputs(op: str, inputs: tuple[Tensor, ...]) -> None:
    """Refuse what an elementwise kernel would read wrongly."""
    for tensor in inputs:
        if not isinstance(tensor, Tensor):
            kind = type(tensor).__name__
            raise TypeError(f"{op}() needs a tensor, got {kind}: {tensor!r}")
        # A nested tensor of the older kind calls itself strided.
        if tensor.layout != torch.strided or tensor.is_nested:
            nested = ", nested" if tensor.is_nested else ""
            raise TypeError(
                f"{op}() needs a strided tensor, got {tensor.layout}{nested}"
            )
        if tensor.dtype not in FLOAT_DTYPES:
            raise TypeError(
                f"{op}() needs a floating-point tensor, got {tensor.dtype}"
                " (accepted: float16, bfloat16, float32, float64)"
            )
    first = inputs[0]
    for other in inputs[1:]:
        check_alike(op, "dtype", first.dtype, other.dtype)
        check_alike(op, "shape", tuple(first.shape), tuple(other.shape))
        check_alike(op, "device", first.device, other.device)


def check_alike(op: str, what: str, first: object, other: object) -> None:
    """Refuse two inputs that differ in what an elementwise op needs alike."""
    if first != other:
        raise ValueError(
            f"{op}() needs tensors of one {what}, got {first} and {other}"
        )


def check_block(op: str, block: int) -> None:
    """Refuse on the interpreter what `tl.arange` refuses on a GPU."""
    if block < 1 or block & (block - 1):
        raise ValueError(f"{op}() needs BLOCK a power of two, got {block}")


def check_device(
    op: str, kernel: KernelInterface[Any], device: torch.device
) -> None:
    """Refuse a tensor that the kernel, as it was defined, cannot reach."""
    if device.type == "cuda" or (
        device.type == "cpu" and is_interpreted(kernel)
    ):
        return
    raise RuntimeError(
        f"{op}() needs a CUDA tensor, got one on {device}; to run on the CPU"
        " set TRITON_INTERPRET=1 before triton_grad is imported"
    )
