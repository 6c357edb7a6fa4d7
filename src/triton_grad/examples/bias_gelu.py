r"""$y = \mathrm{gelu}(x + b)$, a bias for every column, and both gradients.

With $g$ the upstream gradient, $\frac{\partial}{\partial x}$ is
$g\,(\Phi(x + b) + (x + b)\,\varphi(x + b))$, and the bias, which every row
has used, gets that summed over the rows. The backward kernel writes the first
and sums the second while it has it: $g$ and $x$ are read once.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from triton_grad.ops.gelu import gelu_slope, gelu_value

# Elements of a tile; its width is that of the matrix, up to TILE_COLUMNS.
TILE = 2048
TILE_COLUMNS = 512
# As many partial sums a column at most: enough programs to fill a GPU; few
# enough that in a large matrix they are a hundredth of what is moved.
PARTIAL_SUMS = 512


@triton.jit
def bias_gelu_forward_kernel(
    x_ptr,
    bias_ptr,
    y_ptr,
    rows,
    columns,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """A tile a program: y = (x + bias) Φ(x + bias)."""
    across = tl.cdiv(columns, COLUMNS)
    row = (tl.program_id(0) // across).to(tl.int64) * ROWS
    row += tl.arange(0, ROWS)
    column = (tl.program_id(0) % across) * COLUMNS + tl.arange(0, COLUMNS)
    mask = (row < rows)[:, None] & (column < columns)[None, :]
    offsets = row[:, None] * columns + column[None, :]
    bias = tl.load(bias_ptr + column, mask=column < columns)
    x = tl.load(x_ptr + offsets, mask=mask).to(tl.float32)
    z = x + bias.to(tl.float32)[None, :]
    y = gelu_value(z, y_ptr.dtype.element_ty)
    tl.store(y_ptr + offsets, y, mask=mask)


@triton.jit
def bias_gelu_backward_kernel(
    grad_out_ptr,
    x_ptr,
    bias_ptr,
    grad_in_ptr,
    partial_ptr,
    rows,
    columns,
    rows_each,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Tiles below one another: grad_in of each, and their sum by columns."""
    across = tl.cdiv(columns, COLUMNS)
    part = (tl.program_id(0) // across).to(tl.int64)
    column = (tl.program_id(0) % across) * COLUMNS + tl.arange(0, COLUMNS)
    inside = column < columns
    bias = tl.load(bias_ptr + column, mask=inside).to(tl.float32)
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, rows_each, ROWS):
        row = part * rows_each + start + tl.arange(0, ROWS)
        mask = (row < rows)[:, None] & inside[None, :]
        offsets = row[:, None] * columns + column[None, :]
        # What lies outside of the matrix must add nothing to the sum.
        grad_out = tl.load(grad_out_ptr + offsets, mask=mask, other=0.0)
        x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
        z = x.to(tl.float32) + bias[None, :]
        slope = gelu_slope(z, grad_in_ptr.dtype.element_ty)
        grad_in = grad_out.to(tl.float32) * slope
        tl.store(grad_in_ptr + offsets, grad_in, mask=mask)
        total += grad_in
    partial = tl.sum(total, axis=0)
    tl.store(partial_ptr + part * columns + column, partial, mask=inside)


class BiasGELU(torch.autograd.Function):
    """One launch forward; backward one, and the sum of what it left."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, bias: Tensor) -> Tensor:
        x, bias = x.contiguous(), bias.contiguous()
        ctx.save_for_backward(x, bias)
        return bias_gelu_forward(x, bias)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, Tensor]:
        if torch.is_grad_enabled():
            raise NotImplementedError("bias_gelu() is differentiable once")
        x, bias = ctx.saved_tensors
        return bias_gelu_backward(grad_output.contiguous(), x, bias)


def tile_of(columns: int) -> tuple[int, int]:
    """A tile's rows and columns, both powers of two."""
    width = min(TILE_COLUMNS, 1 << (columns - 1).bit_length())
    return TILE // width, width


def parts_of(whole: int, each: int) -> int:
    """How many parts of a size cover the whole."""
    return -(-whole // each)


def bias_gelu_forward(x: Tensor, bias: Tensor) -> Tensor:
    """Launch the forward kernel on contiguous tensors."""
    rows, columns = x.shape
    y = torch.empty_like(x)
    if x.numel() == 0:  # a GPU refuses an empty grid
        return y
    high, wide = tile_of(columns)
    programs: Any = bias_gelu_forward_kernel[
        (parts_of(rows, high) * parts_of(columns, wide),)
    ]
    with torch.cuda.device_of(x):
        programs(x, bias, y, rows, columns, ROWS=high, COLUMNS=wide)
    return y


def bias_gelu_backward(
    grad_output: Tensor, x: Tensor, bias: Tensor
) -> tuple[Tensor, Tensor]:
    """Launch the backward kernel on contiguous tensors, and sum the rest.

    In which order is summed depends on the shape alone: the same numbers
    give the same gradient each time. (Atomic adds would not.)
    """
    rows, columns = x.shape
    grad_input = torch.empty_like(x)
    if x.numel() == 0:
        return grad_input, torch.zeros_like(bias)
    high, wide = tile_of(columns)
    tiles = parts_of(rows, high)
    rows_each = parts_of(tiles, PARTIAL_SUMS) * high
    parts = parts_of(rows, rows_each)
    partial = x.new_empty((parts, columns), dtype=torch.float32)
    programs: Any = bias_gelu_backward_kernel[
        (parts * parts_of(columns, wide),)
    ]
    with torch.cuda.device_of(x):
        programs(
            grad_output,
            x,
            bias,
            grad_input,
            partial,
            rows,
            columns,
            rows_each,
            ROWS=high,
            COLUMNS=wide,
        )
    return grad_input, partial.sum(dim=0).to(bias.dtype)


def bias_gelu(x: Tensor, bias: Tensor) -> Tensor:
    """gelu(x + bias), differentiable once by both.

    The sum x + bias is not rounded to x's dtype, and the bias's gradient is
    summed in float32.

    Args:
        x: (rows, columns), float16, bfloat16 or float32, any layout.
        bias: (columns,), of x's dtype, on its device.

    Returns:
        A contiguous tensor of x's shape, dtype and device.

    Raises:
        TypeError: x is not of these dtypes, or bias not of x's.
        ValueError: The shapes do not fit.
    """
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32):
        raise TypeError(
            f"bias_gelu() needs float16, bfloat16 or float32, got {x.dtype}"
        )
    if bias.dtype != x.dtype:
        raise TypeError(
            f"bias_gelu() needs a bias of {x.dtype}, got {bias.dtype}"
        )
    if x.dim() != 2 or bias.shape != x.shape[1:]:
        raise ValueError(
            "bias_gelu() needs (rows, columns) and (columns,), got"
            f" {tuple(x.shape)} and {tuple(bias.shape)}"
        )
    return BiasGELU.apply(x, bias)  # type: ignore[return-value]
