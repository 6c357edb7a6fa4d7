r"""The square, $x^2$, and its gradients: the smallest op with a chain rule.

$\frac{d}{dx}\,x^2 = 2x$ and $\frac{d^2}{dx^2}\,x^2 = 2$.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from triton_grad.launch import launch_elementwise
from triton_grad.precision import compute_dtype, upcast


@triton.jit
def square_forward_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """y = x², BLOCK elements a program."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = upcast(tl.load(x_ptr + offsets, mask=mask))
    tl.store(y_ptr + offsets, x * x, mask=mask)


@triton.jit
def square_backward_kernel(
    grad_out_ptr, x_ptr, grad_in_ptr, n, BLOCK: tl.constexpr
):
    """grad_in = grad_out 2x, BLOCK elements a program."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    grad_out = upcast(tl.load(grad_out_ptr + offsets, mask=mask))
    x = upcast(tl.load(x_ptr + offsets, mask=mask))
    tl.store(grad_in_ptr + offsets, grad_out * (2.0 * x), mask=mask)


def triton_square_forward(x: Tensor, BLOCK: int = 1024) -> Tensor:
    """Launch the forward kernel.

    Args:
        x: float16, bfloat16, float32 or float64, any shape and layout.
        BLOCK: Elements a program computes; a power of two.

    Returns:
        x squared, contiguous, of x's shape and dtype.
    """
    return launch_elementwise("square", square_forward_kernel, x, BLOCK=BLOCK)


def triton_square_backward(
    grad_output: Tensor, x: Tensor, BLOCK: int = 1024
) -> Tensor:
    """Launch the backward kernel.

    Args:
        grad_output: The upstream gradient, of x's shape, dtype and device;
            any layout, not necessarily x's.
        x: What the forward was given.
        BLOCK: Elements a program computes; a power of two.

    Returns:
        The gradient with respect to x, contiguous, of x's shape and dtype.
    """
    return launch_elementwise(
        "square_backward", square_backward_kernel, grad_output, x, BLOCK=BLOCK
    )


class TritonSquareGrad(torch.autograd.Function):
    """The backward kernel as an op of its own, so that it has a gradient."""

    @staticmethod
    def forward(ctx: Any, grad_output: Tensor, x: Tensor) -> Tensor:
        ctx.save_for_backward(grad_output, x)
        return triton_square_backward(grad_output, x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        grad_output, x = ctx.saved_tensors
        for_grad_output = for_x = None
        if ctx.needs_input_grad[0]:
            # The op is linear in grad_output: its gradient is the op itself.
            for_grad_output = TritonSquareGrad.apply(grad, x)
        if ctx.needs_input_grad[1]:
            wide = compute_dtype(x.dtype)
            upstream = grad.to(wide) * grad_output.to(wide)
            for_x = (upstream * 2.0).to(x.dtype)
        return for_grad_output, for_x


class TritonSquare(torch.autograd.Function):
    """The square with both directions as Triton kernels."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return triton_square_forward(x)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        # Through apply, not the bare launch: the gradient stays in the graph.
        return TritonSquareGrad.apply(grad_output, x)


def square(x: Tensor) -> Tensor:
    """x squared, elementwise, differentiable to any order.

    Args:
        x: float16, bfloat16 (both computed in float32), float32 or float64;
            any shape and layout, on a GPU or, by the interpreter, the CPU.

    Returns:
        A contiguous tensor of x's shape, dtype and device.

    Raises:
        TypeError: x is no tensor, or not of these dtypes.
        RuntimeError: x is where the kernel cannot run.
    """
    return TritonSquare.apply(x)
