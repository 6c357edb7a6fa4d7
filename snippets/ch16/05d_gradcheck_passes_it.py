"""gradcheck passes a wrapper that is wrong for other layouts."""

# /// script
# requires-python = ">=3.11"
# dependencies = ["torch", "triton", "numpy"]
# [tool.bookpress]
# fails = "wrong number"
# ///

import torch

from triton_grad.device import DEVICE
from triton_grad.oracle import gelu_backward_oracle
from triton_grad.traps.triton_gelu_backward_no_contiguous import (
    TritonGELUNoContiguous,
)

handed_down: list[torch.Tensor] = []


def naive_gelu(x: torch.Tensor) -> torch.Tensor:
    z = TritonGELUNoContiguous.apply(x)
    z.register_hook(handed_down.append)
    return z


torch.manual_seed(0)
x = torch.randn(3, 4, dtype=torch.float64).to(DEVICE).requires_grad_()
passed = torch.autograd.gradcheck(naive_gelu, x, check_undefined_grad=False)
print("gradcheck:", passed)
print("cotangents:", len(handed_down))
print("contiguous:", sum(grad.is_contiguous() for grad in handed_down))

weight = torch.randn(4, 3, dtype=torch.float64).to(DEVICE)
loss = (weight * naive_gelu(x).T).sum()
(grad,) = torch.autograd.grad(loss, x)
truth = gelu_backward_oracle(weight.T, x)
print("after a transpose, cotangent strides:", handed_down[-1].stride())
print("after a transpose, max abs diff:", (grad - truth).abs().max().item())
