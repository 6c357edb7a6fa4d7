"""The kernel, the formula in plain PyTorch and the oracle agree."""

import torch

from triton_grad.device import DEVICE
from triton_grad.ops.gelu_erf import triton_gelu_backward
from triton_grad.oracle import gelu_backward_formula, gelu_backward_oracle

x = torch.tensor([-1.0, 0.5, 2.0]).to(DEVICE)
grad_output = torch.ones_like(x)

kernel = triton_gelu_backward(grad_output, x)
formula = gelu_backward_formula(grad_output, x)
oracle = gelu_backward_oracle(grad_output, x)

print("x:", x.tolist())
print("kernel:", [round(v, 4) for v in kernel.tolist()])
print("plain PyTorch:", [round(v, 4) for v in formula.tolist()])
print("fp64 oracle:", [round(v, 4) for v in oracle.tolist()])
print("max abs diff, formula:", (kernel - formula).abs().max().item())
print("max abs diff, oracle:", (kernel - oracle).abs().max().item())
