"""The first form, on rows of 1024 and a random gradient: it looks right."""

import torch

from triton_grad.device import DEVICE
from triton_grad.examples.log_softmax_draft import draft_log_softmax

torch.manual_seed(0)
values, cotangent = torch.randn(2, 64, 1024)
exact = values.double().requires_grad_()
x = values.to(DEVICE).requires_grad_()

y = draft_log_softmax(x, -1)
y.backward(cotangent.to(DEVICE))
truth = torch.log_softmax(exact, -1)
truth.backward(cotangent.double())

assert x.grad is not None
assert exact.grad is not None
forward = (y.cpu() - truth).abs().max()
backward = (x.grad.cpu() - exact.grad).abs().max()
print(f"max abs diff forward: {forward:.1e}")
print(f"max abs diff backward: {backward:.1e}")
