"""TritonGELU end to end, both directions as kernels."""

# /// script
# requires-python = ">=3.11"
# dependencies = ["torch", "triton", "numpy"]
# [tool.bookpress]
# atol = 5e-7
# [tool.bookpress.loose]
# "forward, to F.gelu in fp32" = 0.9
# "after sum(), to F.gelu in fp32" = 0.9
# ///

import torch
import torch.nn.functional as F
import triton

from triton_grad.device import DEVICE
from triton_grad.ops.gelu import TritonGELU
from triton_grad.oracle import gelu_backward_oracle, gelu_oracle


def max_abs_diff(a: torch.Tensor, b: torch.Tensor) -> float:
    return (a.double() - b.double()).abs().max().item()


torch.manual_seed(1)
n = 5000
x = torch.randn(n).to(DEVICE).requires_grad_()
grad_output = torch.randn(n).to(DEVICE)

z = TritonGELU.apply(x)
(grad,) = torch.autograd.grad(z, x, grad_output)
truth = gelu_backward_oracle(grad_output, x.detach())
print("programs:", triton.cdiv(n, 1024))
print("node:", type(z.grad_fn).__name__)
print("forward, to the fp64 oracle:", max_abs_diff(z, gelu_oracle(x)))
print("backward, to the fp64 oracle:", max_abs_diff(grad, truth))

reference = F.gelu(x)
(ours,) = torch.autograd.grad(TritonGELU.apply(x).sum(), x)
(theirs,) = torch.autograd.grad(reference.sum(), x)
print("forward, to F.gelu in fp32:", max_abs_diff(z, reference))
print("after sum(), to F.gelu in fp32:", max_abs_diff(ours, theirs))
