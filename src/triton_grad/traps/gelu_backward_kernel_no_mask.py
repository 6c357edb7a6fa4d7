"""The backward kernel with neither loads nor store masked.

Fails: crash
Symptom: Heap corruption: a crash now, later, elsewhere or never.
Cause: cdiv(n, BLOCK) programs have lanes past n, and nothing stops them.
Caught by: Guard pages; on a GPU, compute-sanitizer.
Missed by: Comparing values: the n elements themselves are right.
"""

import triton
import triton.language as tl
from torch import Tensor

from triton_grad.launch import launch_elementwise
from triton_grad.ops.gelu_erf import normal_cdf, normal_pdf
from triton_grad.precision import upcast


@triton.jit
def gelu_backward_kernel_no_mask(
    grad_out_ptr, x_ptr, grad_in_ptr, n, BLOCK: tl.constexpr
):
    """grad_in = grad_out (Φ(x) + x φ(x)), past the end as well."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    grad_out = upcast(tl.load(grad_out_ptr + offsets))
    x = upcast(tl.load(x_ptr + offsets))
    grad_in = grad_out * (normal_cdf(x) + x * normal_pdf(x))
    tl.store(grad_in_ptr + offsets, grad_in)


def triton_gelu_backward_no_mask(
    grad_output: Tensor, x: Tensor, BLOCK: int = 1024
) -> Tensor:
    """Launch the kernel without masks."""
    return launch_elementwise(
        "gelu_backward_no_mask",
        gelu_backward_kernel_no_mask,
        grad_output,
        x,
        BLOCK=BLOCK,
    )
