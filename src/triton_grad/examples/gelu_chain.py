r"""$y = 2\,\mathrm{gelu}(x) + 1$ as one kernel a direction.

In PyTorch each of the three ops reads and writes a tensor. Here only $x$ is
read and only $y$ is written. The gradient is $2\,(\Phi(x) + x\,\varphi(x))$.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from triton_grad.launch import launch_elementwise
from triton_grad.ops.gelu import gelu_slope, gelu_value
from triton_grad.precision import upcast


@triton.jit
def gelu_chain_forward_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """y = 2 x Φ(x) + 1, BLOCK elements a program."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = upcast(tl.load(x_ptr + offsets, mask=mask))
    y = 2.0 * gelu_value(x, y_ptr.dtype.element_ty) + 1.0
    tl.store(y_ptr + offsets, y, mask=mask)


@triton.jit
def gelu_chain_backward_kernel(
    grad_out_ptr, x_ptr, grad_in_ptr, n, BLOCK: tl.constexpr
):
    """grad_in = grad_out 2 (Φ(x) + x φ(x)), BLOCK elements a program."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    grad_out = upcast(tl.load(grad_out_ptr + offsets, mask=mask))
    x = upcast(tl.load(x_ptr + offsets, mask=mask))
    # grad_out last: twice it may overflow where this product does not.
    grad_in = 2.0 * gelu_slope(x, grad_in_ptr.dtype.element_ty) * grad_out
    tl.store(grad_in_ptr + offsets, grad_in, mask=mask)


class GELUChain(torch.autograd.Function):
    """One launch a direction; x is all that the backward needs."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return launch_elementwise(
            "gelu_chain", gelu_chain_forward_kernel, x, BLOCK=1024
        )

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        if torch.is_grad_enabled():
            raise NotImplementedError("gelu_chain() is differentiable once")
        (x,) = ctx.saved_tensors
        return launch_elementwise(
            "gelu_chain_backward",
            gelu_chain_backward_kernel,
            grad_output,
            x,
            BLOCK=1024,
        )


def gelu_chain(x: Tensor) -> Tensor:
    """2 gelu(x) + 1, elementwise, differentiable once.

    Computed in float32 and rounded once, where three ops of PyTorch round
    three times.

    Args:
        x: float16, bfloat16, float32 or float64; any shape and layout.

    Returns:
        A tensor of x's shape, dtype and device, in x's memory format.

    Raises:
        TypeError: x is no tensor, not strided, or not of these dtypes.
        RuntimeError: x is where the kernel cannot run.
    """
    return GELUChain.apply(x)  # type: ignore[return-value]
