r"""The exact GELU, $x\,\Phi(x)$, and its gradients.

$\Phi$ is the standard normal distribution's cdf and $\varphi$ its pdf, with
$\Phi' = \varphi$ and $\varphi' = -x\,\varphi$. Hence

- $\frac{d}{dx}\,x\,\Phi(x) = \Phi(x) + x\,\varphi(x)$, and
- $\frac{d^2}{dx^2}\,x\,\Phi(x) = (2 - x^2)\,\varphi(x)$.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from triton_grad.elementwise import (
    ElementwiseFunction,
    ElementwiseGrad,
    ElementwiseOp,
)
from triton_grad.normal import gaussian, normal_tail
from triton_grad.precision import upcast

INV_SQRT_2 = tl.constexpr(0.7071067811865476)
INV_SQRT_2PI = tl.constexpr(0.3989422804014327)


@triton.jit
def normal_cdf(x):
    """Φ(x): the part of a standard normal distribution below x."""
    middle = 0.5 * (1.0 + tl.erf(x * INV_SQRT_2))
    # Below -1 the sum 1 + erf cancels: from about -6 on no digit is left.
    return tl.where(x < -1.0, normal_tail(x), middle)


@triton.jit
def normal_pdf(x):
    """φ(x), the derivative of Φ."""
    # In this order: the interpreter makes no tensor of constexpr * tensor.
    return gaussian(x) * INV_SQRT_2PI


@triton.jit
def weighted(x, weight):
    """x times a weight that falls faster than x grows: never inf * 0."""
    # Where nothing is left of the weight, any finite x < 0 will do.
    return tl.where(weight == 0.0, -1.0, x) * weight


@triton.jit
def gelu_forward_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """y = x Φ(x), BLOCK elements a program."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = upcast(tl.load(x_ptr + offsets, mask=mask))
    y = weighted(x, normal_cdf(x))
    # Lanes past n hold nothing defined: the mask keeps them from the store.
    tl.store(y_ptr + offsets, y, mask=mask)


@triton.jit
def gelu_backward_kernel(
    grad_out_ptr, x_ptr, grad_in_ptr, n, BLOCK: tl.constexpr
):
    """grad_in = grad_out (Φ(x) + x φ(x)), BLOCK elements a program."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    grad_out = upcast(tl.load(grad_out_ptr + offsets, mask=mask))
    x = upcast(tl.load(x_ptr + offsets, mask=mask))
    slope = normal_cdf(x) + weighted(x, normal_pdf(x))
    grad_in = grad_out * slope
    tl.store(grad_in_ptr + offsets, grad_in, mask=mask)


gelu_forward_op = ElementwiseOp("gelu", gelu_forward_kernel)
gelu_backward_op = ElementwiseOp("gelu_backward", gelu_backward_kernel)


def triton_gelu_forward(x: Tensor, BLOCK: int = 1024) -> Tensor:
    """Launch the forward kernel. Autograd does not see it: use `gelu`.

    Args:
        x: float16, bfloat16, float32 or float64, any shape and layout.
        BLOCK: Elements a program computes; a power of two.

    Returns:
        gelu(x), of x's shape and dtype, in x's memory format.

    Raises:
        TypeError: x is no tensor, not strided, or not of these dtypes.
        ValueError: BLOCK is not a power of two.
        RuntimeError: x is where the kernel cannot run.
    """
    return gelu_forward_op(x, BLOCK=BLOCK)


def triton_gelu_backward(
    grad_output: Tensor, x: Tensor, BLOCK: int = 1024
) -> Tensor:
    """Launch the backward kernel. Autograd does not see it.

    Args:
        grad_output: The upstream gradient, of x's shape, dtype and device;
            any layout, not necessarily x's.
        x: What the forward was given.
        BLOCK: Elements a program computes; a power of two.

    Returns:
        The gradient with respect to x, of x's shape and dtype, in the memory
        format that PyTorch gives to grad_output * x.

    Raises:
        TypeError: An input is no tensor, not strided, or not of a dtype that
            the forward accepts.
        ValueError: The inputs differ in shape, dtype or device, or BLOCK is
            not a power of two.
        RuntimeError: The inputs are where the kernel cannot run.
    """
    return gelu_backward_op(grad_output, x, BLOCK=BLOCK)


def gelu_second_derivative(x: Tensor) -> Tensor:
    """(2 - x²) φ(x), in PyTorch ops that autograd can differentiate."""
    # From 40 on φ is 0 in every dtype. (Not clamp: its gradient drops a nan.)
    x = torch.where(x.abs() > 40.0, 40.0, x)
    # As in gaussian(): z² is exact. round() has no gradient and needs none.
    z = torch.round(16.0 * x) / 16.0
    gauss = torch.exp(-0.5 * z * z) * torch.exp(-0.5 * (x - z) * (x + z))
    return (2.0 - x * x) * (INV_SQRT_2PI.value * gauss)


@gelu_backward_op.differentiated_by
class TritonGELUGrad(ElementwiseGrad):
    """The backward kernel as an op of its own, so that it has a gradient."""

    second_derivative = staticmethod(gelu_second_derivative)

    @staticmethod
    def forward(grad_output: Tensor, x: Tensor) -> Tensor:
        return triton_gelu_backward(grad_output, x)


@gelu_forward_op.differentiated_by
class TritonGELU(ElementwiseFunction):
    """GELU with both directions as Triton kernels."""

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return triton_gelu_forward(x)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        # Through apply, not the bare launch: the gradient stays in the graph.
        return TritonGELUGrad.apply(grad_output, x)

    @staticmethod
    def jvp(ctx: Any, x_tangent: Tensor) -> Tensor:
        # The Jacobian is diagonal: it is its own transpose.
        return TritonGELU.backward(ctx, x_tangent)


def gelu(x: Tensor) -> Tensor:
    """The exact GELU, x Φ(x), elementwise, differentiable to any order.

    Args:
        x: float16, bfloat16 (both computed in float32), float32 or float64;
            any shape and layout, on a GPU or, by the interpreter, the CPU.

    Returns:
        A tensor of x's shape, dtype and device, in x's memory format.

    Raises:
        TypeError: x is no tensor, not strided, or not of these dtypes.
        RuntimeError: x is where the kernel cannot run.
    """
    return gelu_forward_op.differentiable(x)
