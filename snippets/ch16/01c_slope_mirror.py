"""The slope at x and the slope at -x add up to one."""

import torch

from triton_grad.device import DEVICE
from triton_grad.ops.gelu_erf import triton_gelu_backward

x = torch.linspace(-4.0, 4.0, 8001, dtype=torch.float64).to(DEVICE)
slope = triton_gelu_backward(torch.ones_like(x), x)

print("slope(x) + slope(-x), least:", (slope + slope.flip(0)).min().item())
print("slope(x) + slope(-x), most:", (slope + slope.flip(0)).max().item())
print("steepest at:", round(x[slope.argmax()].item(), 3))
print("slope there:", slope.max().item())
print("least steep at:", round(x[slope.argmin()].item(), 3))
print("slope there, least:", slope.min().item())
