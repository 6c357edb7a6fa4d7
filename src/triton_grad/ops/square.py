r"""The square, $x^2$, and its gradients: the smallest op with a chain rule.

$\frac{d}{dx}\,x^2 = 2x$ and $\frac{d^2}{dx^2}\,x^2 = 2$.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.overrides import handle_torch_function, has_torch_function_unary

from triton_grad.elementwise import (
    ElementwiseFunction,
    ElementwiseGrad,
    ElementwiseOp,
)
from triton_grad.precision import upcast


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
    # 2x alone would overflow where its product with grad_out does not.
    grad_in = 2.0 * (grad_out * x)
    tl.store(grad_in_ptr + offsets, grad_in, mask=mask)


square_forward_op = ElementwiseOp("square", square_forward_kernel)
square_backward_op = ElementwiseOp("square_backward", square_backward_kernel)


def square_second_derivative(x: Tensor) -> Tensor:
    """2, everywhere."""
    return torch.full_like(x, 2.0)


@square_backward_op.differentiated_by
class TritonSquareGrad(ElementwiseGrad):
    """The backward kernel as an op of its own, so that it has a gradient."""

    second_derivative = staticmethod(square_second_derivative)

    @staticmethod
    def forward(grad_output: Tensor, x: Tensor) -> Tensor:
        return square_backward_op(grad_output, x)


@square_forward_op.differentiated_by
class TritonSquare(ElementwiseFunction):
    """The square with both directions as Triton kernels."""

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return square_forward_op(x)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        # Through apply, not the bare launch: the gradient stays in the graph.
        return TritonSquareGrad.apply(grad_output, x)

    @staticmethod
    def jvp(ctx: Any, x_tangent: Tensor) -> Tensor:
        # The Jacobian is diagonal: it is its own transpose.
        return TritonSquare.backward(ctx, x_tangent)


def square(x: Tensor) -> Tensor:
    """x squared, elementwise, differentiable to any order.

    The result is the exact value, rounded; the gradient is within a unit in
    its last place.

    Args:
        x: float16, bfloat16 (both computed in float32), float32 or float64;
            any shape and layout, on a GPU or, by the interpreter, the CPU.

    Returns:
        A tensor of x's shape, dtype and device, in x's memory format.

    Raises:
        TypeError: x is no tensor, not strided, or not of these dtypes.
        RuntimeError: x is where the kernel cannot run.
    """
    if has_torch_function_unary(x):
        return handle_torch_function(square, (x,), x)
    return square_forward_op.differentiable(TritonSquare, x)
