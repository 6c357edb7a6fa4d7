"""A backward that reuses grad_output's memory spoils its sibling."""

# /// script
# [tool.bookpress]
# fails = "wrong number"
# [tool.bookpress.loose]
# "sum(), reusing branch, max abs diff" = 1.0
# "weighted sum, reusing branch, max abs diff" = 1.0
# ///

from typing import Any

import torch

from triton_grad.device import DEVICE
from triton_grad.ops.square import square
from triton_grad.oracle import gelu_backward_oracle, square_backward_oracle
from triton_grad.traps.triton_gelu_overwrites_grad_output import (
    TritonGELUOverwritesGradOutput,
)


def max_abs_diff(got: torch.Tensor, truth: torch.Tensor) -> float:
    return (got - truth).abs().max().item()


torch.manual_seed(3)
x = torch.randn(6).to(DEVICE)
ones, ramp = torch.ones_like(x), torch.linspace(1, 2, 6).to(DEVICE)

for name, weights in (("sum()", ones), ("weighted sum", ramp)):
    a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
    sibling, reusing = square(b), TritonGELUOverwritesGradOutput.apply(a)
    given: list[torch.Tensor] = []
    for branch in (sibling, reusing):
        node: Any = branch.grad_fn
        node.register_prehook(lambda grads, given=given: given.extend(grads))
    joined = reusing + sibling
    loss = joined.sum() if weights is ones else (weights * joined).sum()
    own, other = torch.autograd.grad(loss, (a, b))

    one = given[0].data_ptr() == given[1].data_ptr()
    print(f"{name}, both branches are given one tensor:", one)
    print(f"{name}, its stride:", given[0].stride())
    truth = gelu_backward_oracle(weights, x)
    print(f"{name}, reusing branch, max abs diff:", max_abs_diff(own, truth))
    truth = square_backward_oracle(weights, x)
    print(f"{name}, its sibling, max abs diff:", max_abs_diff(other, truth))
