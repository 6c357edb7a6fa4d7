"""The bias gradient's kernel that loads, adds and stores.

Fails: wrong number
Symptom: On a GPU the gradient is too small, each time by something else.
Cause: Between one program's load and its store others add in vain.
Report: jmschrei/cherimoya#25
Caught by: A look at who writes what: no element may have two writers.
Missed by: The interpreter, which runs one program after the other.
Fix: tl.atomic_add(ptrs, grad_out, mask=mask)
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from triton_grad.launch import launch_elementwise
from triton_grad.precision import compute_dtype, upcast
from triton_grad.traps._grid import block_of, launch_grid
from triton_grad.traps._refusal import refuse_second_order


@triton.jit
def add_forward_kernel(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    """z = x + y, BLOCK elements a program."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = upcast(tl.load(x_ptr + offsets, mask=mask))
    y = upcast(tl.load(y_ptr + offsets, mask=mask))
    tl.store(z_ptr + offsets, x + y, mask=mask)


@triton.jit
def add_bias_backward_kernel_no_atomic(
    grad_out_ptr, grad_bias_ptr, cols, BLOCK: tl.constexpr
):
    """grad_bias += a row of grad_out a program, all at one time."""
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    mask = col < cols
    grad_out = upcast(tl.load(grad_out_ptr + row * cols + col, mask=mask))
    ptrs = grad_bias_ptr + col
    tl.store(ptrs, tl.load(ptrs, mask=mask) + grad_out, mask=mask)  # wrong


class TritonAddBiasNoAtomic(torch.autograd.Function):
    """A bias added to each row; its gradient by the wrong kernel."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, bias: Tensor) -> Tensor:
        biases = bias.expand_as(x)
        return launch_elementwise(
            "add_bias", add_forward_kernel, x, biases, BLOCK=1024
        )

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, Tensor]:
        refuse_second_order("add_bias")
        rows, cols = grad_output.shape
        total = torch.zeros(
            cols,
            dtype=compute_dtype(grad_output.dtype),
            device=grad_output.device,
        )
        launch_grid(
            add_bias_backward_kernel_no_atomic,
            (rows,),
            grad_output.contiguous(),
            total,
            cols,
            BLOCK=block_of(cols),
        )
        return grad_output, total.to(grad_output.dtype)
