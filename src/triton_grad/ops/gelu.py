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

from triton_grad.launch import launch_elementwise
from triton_grad.precision import compute_dtype, upcast

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
    """Launch the forward kernel.

    Args:
        x: float16, bfloat16, float32 or float64, any shape and layout.
        BLOCK: Elements a program computes; a power of two.

    Returns:
        gelu(x), contiguous, of x's shape and dtype.
    """
    return launch_elementwise("gelu", gelu_forward_kernel, x, BLOCK=BLOCK)


def triton_gelu_backward(
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
        "gelu_backward", gelu_backward_kernel, grad_output, x, BLOCK=BLOCK
    )


def gelu_second_derivative(x: Tensor) -> Tensor:
    """(2 - x²) φ(x), in PyTorch ops that autograd can differentiate."""
    pdf = INV_SQRT_2PI.value * torch.exp(-0.5 * x * x)
    # Not (2 - x * x) * pdf: where x * x is inf, pdf is 0, and that is nan.
    return 2.0 * pdf - x * (x * pdf)


class TritonGELUGrad(torch.autograd.Function):
    """The backward kernel as an op of its own, so that it has a gradient."""

    @staticmethod
    def forward(ctx: Any, grad_output: Tensor, x: Tensor) -> Tensor:
        ctx.save_for_backward(grad_output, x)
        return triton_gelu_backward(grad_output, x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        grad_output, x = ctx.saved_tensors
        for_grad_output = for_x = None
        if ctx.needs_input_grad[0]:
            # The op is linear in grad_output: its gradient is the op itself.
            for_grad_output = TritonGELUGrad.apply(grad, x)
        if ctx.needs_input_grad[1]:
            wide = compute_dtype(x.dtype)
            upstream = grad.to(wide) * grad_output.to(wide)
            curvature = gelu_second_derivative(x.to(wide))
            for_x = (upstream * curvature).to(x.dtype)
        return for_grad_output, for_x


class TritonGELU(torch.autograd.Function):
    """GELU with both directions as Triton kernels."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return triton_gelu_forward(x)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        # Through apply, not the bare launch: the gradient stays in the graph.
        return TritonGELUGrad.apply(grad_output, x)


def gelu(x: Tensor) -> Tensor:
    """The exact GELU, x Φ(x), elementwise, differentiable to any order.

    Args:
        x: float16, bfloat16 (both computed in float32), float32 or float64;
            any shape and layout, on a GPU or, by the interpreter, the CPU.

    Returns:
        A contiguous tensor of x's shape, dtype and device.

    Raises:
        TypeError: x is no tensor, or not of these dtypes.
        RuntimeError: x is where the kernel cannot run.
    """
    return TritonGELU.apply(x)
