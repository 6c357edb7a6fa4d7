r"""The exact GELU as chapter 16 tells it, with $\Phi$ by the error function.

$\Phi(x) = \frac12 (1 + \mathrm{erf}(x / \sqrt2))$. The formula is short, and
its sum cancels in the lower tail; $-\infty$ times 0 is NaN. The op that the
library installs, in `triton_grad.ops.gelu`, has neither fault.
"""

import triton
import triton.language as tl
from torch import Tensor

from triton_grad.launch import launch_elementwise
from triton_grad.precision import upcast

INV_SQRT_2 = tl.constexpr(0.7071067811865476)
INV_SQRT_2PI = tl.constexpr(0.3989422804014327)


@triton.jit
def normal_cdf(x):
    """Φ(x): the part of a standard normal distribution below x."""
    return 0.5 * (1.0 + tl.erf(x * INV_SQRT_2))


@triton.jit
def normal_pdf(x):
    """φ(x), the derivative of Φ."""
    return INV_SQRT_2PI * tl.exp(-0.5 * x * x)


@triton.jit
def gelu_forward_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """y = x Φ(x), BLOCK elements a program."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = upcast(tl.load(x_ptr + offsets, mask=mask))
    y = x * normal_cdf(x)
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
    grad_in = grad_out * (normal_cdf(x) + x * normal_pdf(x))
    tl.store(grad_in_ptr + offsets, grad_in, mask=mask)


def triton_gelu_forward(x: Tensor, BLOCK: int = 1024) -> Tensor:
    """Launch the forward kernel. Autograd does not see it.

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
    return launch_elementwise("gelu", gelu_forward_kernel, x, BLOCK=BLOCK)


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
    return launch_elementwise(
        "gelu_backward", gelu_backward_kernel, grad_output, x, BLOCK=BLOCK
    )
