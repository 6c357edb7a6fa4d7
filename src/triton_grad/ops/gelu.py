r"""The exact GELU, $x\,\Phi(x)$, and its gradients.

$\Phi$ is the standard normal distribution's cdf and $\varphi$ its pdf, with
$\Phi' = \varphi$ and $\varphi' = -x\,\varphi$. Hence

- $\frac{d}{dx}\,x\,\Phi(x) = \Phi(x) + x\,\varphi(x)$, and
- $\frac{d^2}{dx^2}\,x\,\Phi(x) = (2 - x^2)\,\varphi(x)$.

Chapter 16 tells these kernels with $\Phi$ by the error function: see
`triton_grad.ops.gelu_erf`. Here $\Phi$ comes from the nearer tail, which
has its digits everywhere.
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
from triton_grad.normal import (
    bounded_above,
    bounded_below,
    gaussian,
    normal_cdf_from,
    normal_tail,
    rough_gaussian,
    rough_tail,
)
from triton_grad.ops.gelu_erf import INV_SQRT_2PI
from triton_grad.precision import upcast

# For the 2**24 times too large bell of 16 bits.
ROUGH_INV_SQRT_2PI = tl.constexpr(0.3989422804014327 * 2.0**-24)


@triton.jit
def gelu_value(x, storage: tl.constexpr):
    """x Φ(x) of an upcast x, with the digits that storage can hold."""
    x = bounded_below(x)
    if storage.primitive_bitwidth == 16:
        tail = rough_tail(x, rough_gaussian(x))
    else:
        z = bounded_above(tl.abs(x))
        tail = normal_tail(z, gaussian(z))
    return x * normal_cdf_from(tail, x)


@triton.jit
def gelu_slope(x, storage: tl.constexpr):
    """Φ(x) + x φ(x) of an upcast x, with the digits that storage can hold."""
    x = bounded_above(bounded_below(x))
    # In this order: the interpreter makes no tensor of constexpr * tensor.
    if storage.primitive_bitwidth == 16:
        bell = rough_gaussian(x)
        tail = rough_tail(x, bell)
        pdf_times_x = x * ROUGH_INV_SQRT_2PI * bell
    else:
        bell = gaussian(x)
        tail = normal_tail(x, bell)
        pdf_times_x = x * (bell * INV_SQRT_2PI)
    return normal_cdf_from(tail, x) + pdf_times_x


@triton.jit
def accurate_gelu_forward_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """y = x Φ(x), BLOCK elements a program."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = upcast(tl.load(x_ptr + offsets, mask=mask))
    y = gelu_value(x, y_ptr.dtype.element_ty)
    tl.store(y_ptr + offsets, y, mask=mask)


@triton.jit
def accurate_gelu_backward_kernel(
    grad_out_ptr, x_ptr, grad_in_ptr, n, BLOCK: tl.constexpr
):
    """grad_in = grad_out (Φ(x) + x φ(x)), BLOCK elements a program."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    grad_out = upcast(tl.load(grad_out_ptr + offsets, mask=mask))
    x = upcast(tl.load(x_ptr + offsets, mask=mask))
    grad_in = grad_out * gelu_slope(x, grad_in_ptr.dtype.element_ty)
    tl.store(grad_in_ptr + offsets, grad_in, mask=mask)


gelu_forward_op = ElementwiseOp("gelu", accurate_gelu_forward_kernel)
gelu_backward_op = ElementwiseOp(
    "gelu_backward", accurate_gelu_backward_kernel
)


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
        return gelu_backward_op(grad_output, x)


@gelu_forward_op.differentiated_by
class TritonGELU(ElementwiseFunction):
    """GELU with both directions as Triton kernels."""

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return gelu_forward_op(x)

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

    In float32 and float64 the result is within 8 units in the last place of
    the exact value, and its gradient within 10 for |grad_output| <= 1, in the
    tails too; in float16 and bfloat16 they are its rounding, but for 0.01 of
    a unit. Less is promised where Φ is subnormal (below -12.9 in float32,
    -37.4 in float64: 16 and 64 units) and, of the gradient, around its zero
    at -0.7518: from -1.25 to 0 an absolute error comes on top, of 2.4e-7
    times grad_output (of 4.5e-16 in float64). At -inf, inf and nan the limits
    come out: -0, inf and nan; 0, 1 and nan.

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
        return handle_torch_function(gelu, (x,), x)
    return gelu_forward_op.differentiable(TritonGELU, x)
