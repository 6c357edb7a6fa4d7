"""Ten masked programs over 10000 elements, both directions."""

# /// script
# requires-python = ">=3.11"
# dependencies = ["torch", "triton", "numpy"]
# [tool.bookpress]
# atol = 5e-7
# [tool.bookpress.loose]
# "forward, to F.gelu in fp32" = 0.9
# "backward, to F.gelu in fp32" = 0.9
# ///

import torch
import torch.nn.functional as F
import triton

from triton_grad.device import DEVICE
from triton_grad.ops.gelu_erf import triton_gelu_backward, triton_gelu_forward
from triton_grad.oracle import gelu_backward_oracle, gelu_oracle


def max_abs_diff(a: torch.Tensor, b: torch.Tensor) -> float:
    return (a.double() - b.double()).abs().max().item()


torch.manual_seed(0)
n, BLOCK = 10000, 1024
x = torch.randn(n).to(DEVICE).requires_grad_()
grad_output = torch.randn(n).to(DEVICE)
reference = F.gelu(x)
(reference_grad,) = torch.autograd.grad(reference, x, grad_output)
x = x.detach()

y = triton_gelu_forward(x, BLOCK)
grad_input = triton_gelu_backward(grad_output, x, BLOCK)
truth = gelu_backward_oracle(grad_output, x)

programs = triton.cdiv(n, BLOCK)
first = (programs - 1) * BLOCK
one_program = triton.next_power_of_2(n)
print("programs:", programs)
print("last program starts at:", first)
print("live lanes in the last program:", n - first)
print("masked lanes in the last program:", programs * BLOCK - n)
print("lanes in the grid:", programs * BLOCK)
print("lanes in one large program:", one_program)
print("masked in one large program:", one_program - n)
print("forward, to the fp64 oracle:", max_abs_diff(y, gelu_oracle(x)))
print("forward, to F.gelu in fp32:", max_abs_diff(y, reference))
print("backward, to the fp64 oracle:", max_abs_diff(grad_input, truth))
print(
    "backward, to F.gelu in fp32:", max_abs_diff(grad_input, reference_grad)
)
