"""One program for everything: right, until it is refused."""

# /// script
# requires-python = ">=3.11"
# dependencies = ["torch", "triton", "numpy"]
# [tool.bookpress]
# atol = 5e-7
# differs = """
# Both refuse with the same ValueError. The interpreter wraps it into an
# `InterpreterError`, the compiler into a `CompilationError`.
# """
# ///

import torch
import triton

from triton_grad.device import DEVICE
from triton_grad.ops.gelu_erf import triton_gelu_backward
from triton_grad.oracle import gelu_backward_oracle


def root_cause(error: BaseException) -> BaseException:
    return root_cause(error.__cause__) if error.__cause__ else error


torch.manual_seed(0)
n = 10000
x = torch.randn(n).to(DEVICE)
grad_output = torch.randn(n).to(DEVICE)
grad_input = triton_gelu_backward(
    grad_output, x, BLOCK=int(triton.next_power_of_2(n))
)
right = gelu_backward_oracle(grad_output, x)
print("lanes:", triton.next_power_of_2(n))
print("max abs diff:", (grad_input - right).abs().max().item())

n = 2**20 + 1
x = torch.zeros(n, device=DEVICE)
print("lanes for one element more than 2**20:", triton.next_power_of_2(n))
try:
    triton_gelu_backward(x, x, BLOCK=int(triton.next_power_of_2(n)))
except Exception as error:
    print("refused by:", type(error).__name__)
    print("because:", root_cause(error))
