"""mean() hands down 1/n, times the slope of what lies between."""

import torch
from torch import Tensor

from triton_grad.ops.gelu import gelu
from triton_grad.oracle import gelu_backward_oracle


def test_mean_divides_what_sum_hands_down(
    x: Tensor, backward_calls: list[tuple[str, Tensor]]
) -> None:
    (dx,) = torch.autograd.grad((2 * gelu(x) + 1).mean(), x)
    ((_, grad_output),) = backward_calls
    share = torch.full_like(x, 2 / x.numel())
    torch.testing.assert_close(grad_output, share, rtol=2e-7, atol=0)
    truth = gelu_backward_oracle(share, x.detach())
    # The gradients are of the size of 1/n, and so is the tolerance.
    atol = 2e-6 / x.numel()
    torch.testing.assert_close(dx.double(), truth, rtol=2e-6, atol=atol)
