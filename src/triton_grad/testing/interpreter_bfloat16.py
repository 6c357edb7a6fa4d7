"""bfloat16 on Triton's interpreter, as a GPU has it.

The interpreter holds bfloat16 as 16-bit integers. It rounds towards zero,
misreads subnormal numbers, and adds, multiplies and sums the bits as if they
were integers. Here each of these goes by way of float32.
"""

from collections.abc import Callable
from typing import Any

import numpy
import triton.language as tl
from numpy.typing import NDArray
from triton.runtime.interpreter import (
    InterpreterBuilder,
    ReduceScanOpInterface,
    TensorHandle,
)

# Interpreter methods that compute with the data of the handles they get.
COMPUTING = (
    "binary_op",
    "unary_op",
    "ternary_op",
    "create_fma",
    "create_rsqrt",
    "create_dot",
)

Method = Callable[..., Any]


def widened_bits(bits: NDArray[numpy.uint16]) -> NDArray[numpy.float32]:
    """The values of bfloat16 bits; every one is a float32."""
    return (bits.astype(numpy.uint32) << 16).view(numpy.float32)


def narrowed_bits(values: NDArray[Any]) -> NDArray[numpy.uint16]:
    """The bits of the nearest bfloat16s, of two as near the even one."""
    single = numpy.ascontiguousarray(values, dtype=numpy.float32)
    bits = single.view(numpy.uint32)
    up = ((bits >> 16) & 1) + numpy.uint32(0x7FFF)
    rounded = ((bits + up) >> 16).astype(numpy.uint16)
    # Rounding could carry a NaN's digits into its exponent.
    nan = ((bits >> 16) | 0x40).astype(numpy.uint16)
    return numpy.where(numpy.isnan(single), nan, rounded)


def is_bfloat16(value: object) -> bool:
    """Whether this is an interpreter's handle of bfloat16 data."""
    return (
        isinstance(value, TensorHandle)
        and value.dtype.scalar == tl.bfloat16
        and value.data.dtype == numpy.uint16
    )


def in_float32(value: Any) -> Any:
    """A bfloat16 handle as a float32 one; anything else as it is."""
    if not is_bfloat16(value):
        return value
    return TensorHandle(widened_bits(value.data), tl.float32)


def in_bfloat16(handle: TensorHandle) -> TensorHandle:
    """The result of a float32 computation that stands for a bfloat16 one."""
    if handle.data.dtype == bool:  # a comparison's
        return handle
    return TensorHandle(narrowed_bits(handle.data), tl.bfloat16)


def computing_in_float32(original: Method) -> Method:
    """Let a method of the builder compute with the values, not the bits."""

    def method(self: InterpreterBuilder, *args: Any) -> TensorHandle:
        if not any(map(is_bfloat16, args)):
            return original(self, *args)
        result = original(self, *map(in_float32, args))
        # The accumulator of a dot is float32 though its factors are not.
        others = [arg for arg in args if isinstance(arg, TensorHandle)]
        narrow = is_bfloat16(others[-1])
        return in_bfloat16(result) if narrow else result

    return method


def casting(original: Method) -> Method:
    """Round to nearest, and read subnormal numbers rightly."""

    def cast_impl(
        self: InterpreterBuilder, src: TensorHandle, dst_type: tl.dtype
    ) -> TensorHandle:
        pair = (src.dtype.scalar, dst_type.scalar)
        if pair == (tl.float32, tl.bfloat16):
            return TensorHandle(narrowed_bits(src.data), tl.bfloat16)
        if pair == (tl.bfloat16, tl.float32):
            return TensorHandle(widened_bits(src.data), tl.float32)
        return original(self, src, dst_type)

    return cast_impl


def reducing(original: Method) -> Method:
    """Reduce and scan in float32, and round the result."""

    def apply(self: ReduceScanOpInterface, tensors: Any) -> Any:
        parts = tensors if isinstance(tensors, tuple) else (tensors,)
        if not any(is_bfloat16(part.handle) for part in parts):
            return original(self, tensors)
        wide = tuple(as_float32_tensor(part) for part in parts)
        results = original(self, wide)
        narrow = tuple(
            as_bfloat16_tensor(result) if is_bfloat16(part.handle) else result
            for part, result in zip(parts, results, strict=True)
        )
        return narrow if isinstance(tensors, tuple) else narrow[0]

    return apply


def as_float32_tensor(tensor: tl.tensor) -> tl.tensor:
    """A kernel's tensor with bfloat16's values in float32."""
    return tl.tensor(
        in_float32(tensor.handle), with_scalar(tensor.type, tl.float32)
    )


def as_bfloat16_tensor(tensor: tl.tensor) -> tl.tensor:
    """A kernel's float32 tensor rounded to bfloat16."""
    return tl.tensor(
        in_bfloat16(tensor.handle), with_scalar(tensor.type, tl.bfloat16)
    )


def with_scalar(kind: Any, scalar: tl.dtype) -> tl.dtype:
    """A tensor's type with other elements."""
    if kind.is_block():
        return tl.block_type(scalar, list(kind.shape))
    return scalar


def get_bf16(self: InterpreterBuilder, value: float) -> TensorHandle:
    """A bfloat16 constant, which not every version's interpreter can make."""
    bits = narrowed_bits(numpy.array([value], dtype=numpy.float32))
    return TensorHandle(bits, tl.bfloat16)
