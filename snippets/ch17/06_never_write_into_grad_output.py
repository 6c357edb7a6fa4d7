"""A backward that reuses grad_output's memory spoils its sibling."""

# /// script
# [tool.bookpress]
# fails = "wrong number"
# [tool.bookpress.loose]
# "sum(), reusing branch, max abs diff" = 1.0
# "weighted sum, reusing branch, max abs diff" = 1.0
# "sibling written last, reusing branch, max abs diff" = 1.0
# "sibling written last, its sibling, max abs diff" = 1.0
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

for case, weights, sibling_first in (
    ("sum()", ones, True),
    ("weighted sum", ramp, True),
    ("sibling written last", ramp, False),
):
    a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
    if sibling_first:
        sibling, reusing = square(b), TritonGELUOverwritesGradOutput.apply(a)
    else:
        reusing, sibling = TritonGELUOverwritesGradOutput.apply(a), square(b)
    given: dict[str, torch.Tensor] = {}
    for name, branch in (("reusing", reusing), ("sibling", sibling)):
        node: Any = branch.grad_fn
        node.register_prehook(
            lambda grads, at=given, name=name: at.update({name: grads[0]})
        )
    joined = reusing + sibling
    loss = joined.sum() if weights is ones else (weights * joined).sum()
    own, other = torch.autograd.grad(loss, (a, b))

    one = given["reusing"].data_ptr() == given["sibling"].data_ptr()
    print(f"{case}, both branches are given one tensor:", one)
    print(f"{case}, its stride:", given["reusing"].stride())
    print(f"{case}, backwards ran:", ", then ".join(given))
    truth = gelu_backward_oracle(weights, x)
    print(f"{case}, reusing branch, max abs diff:", max_abs_diff(own, truth))
    truth = square_backward_oracle(weights, x)
    print(f"{case}, its sibling, max abs diff:", max_abs_diff(other, truth))
