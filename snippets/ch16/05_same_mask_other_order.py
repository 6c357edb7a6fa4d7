"""The right kernel on tensors that lie in memory in different orders."""

# /// script
# requires-python = ">=3.11"
# dependencies = ["torch", "triton", "numpy"]
# [tool.bookpress]
# atol = 5e-7
# fails = "wrong number"
# ///

from collections.abc import Callable

import torch

from triton_grad.device import DEVICE
from triton_grad.ops.gelu_erf import triton_gelu_backward, triton_gelu_forward
from triton_grad.oracle import gelu_backward_oracle, gelu_oracle
from triton_grad.traps.triton_gelu_backward_contiguous_grad_only import (
    triton_gelu_backward_contiguous_grad_only,
)
from triton_grad.traps.triton_gelu_backward_no_contiguous import (
    triton_gelu_backward_no_contiguous,
)
from triton_grad.traps.triton_gelu_forward_no_contiguous import (
    triton_gelu_forward_no_contiguous,
)

Backward = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def compare(
    case: str, grad_output: torch.Tensor, x: torch.Tensor, naive: Backward
) -> None:
    y, grad = gelu_oracle(x), gelu_backward_oracle(grad_output, x)
    results = {
        "forward, naive": (triton_gelu_forward_no_contiguous(x), y),
        "forward, library": (triton_gelu_forward(x), y),
        "backward, naive": (naive(grad_output, x), grad),
        "backward, library": (triton_gelu_backward(grad_output, x), grad),
    }
    for name, (got, truth) in results.items():
        print(f"{case}, {name}:", (got - truth).abs().max().item())


torch.manual_seed(0)
x = torch.randn(64, 100).to(DEVICE).T
grad_output = torch.randn(100, 64).to(DEVICE)
one_only = triton_gelu_backward_contiguous_grad_only
compare("transposed x", grad_output, x, one_only)

x = torch.randn(100, 128).to(DEVICE)[:, ::2]
compare("every second column", grad_output, x, one_only)

x = torch.randn(100, 64).to(DEVICE)
# One element that is read 6400 times. Behind it lie sevens, so that what a
# kernel reads there is known.
memory = torch.full((6400,), 7.0).to(DEVICE)
memory[0] = 1.0
grad_output = memory[0].expand(100, 64)
compare("stride 0", grad_output, x, triton_gelu_backward_no_contiguous)
naive = triton_gelu_backward_no_contiguous(grad_output, x)
ratio = (naive / triton_gelu_backward(grad_output, x)).flatten()
least, most = torch.aminmax(ratio[1:])
print(f"stride 0, naive / library, first element: {ratio[0]:.4f}")
print(f"stride 0, naive / library, others: {least:.4f} to {most:.4f}")
