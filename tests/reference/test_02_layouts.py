"""However tensors lie, an op gives what it gives for contiguous ones."""

from itertools import product

import pytest
import torch
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.testing.cases import OPS, OpCase
from triton_grad.testing.layouts import LAYOUT_VALUES, LAYOUTS

every_op = pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
every_layout = pytest.mark.parametrize("layout", LAYOUTS)


def memory(seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(LAYOUT_VALUES, generator=generator).to(DEVICE)


def both_ways(op: OpCase, x: Tensor, grad_output: Tensor) -> list[Tensor]:
    leaf = x.detach().requires_grad_()
    y = op.apply(leaf)
    return [y.detach(), *torch.autograd.grad(y, leaf, grad_output)]


@every_op
@every_layout
def test_the_layout_changes_no_bit(op: OpCase, layout: str) -> None:
    x = LAYOUTS[layout](memory(1))
    for lay_out in LAYOUTS.values():
        grad_output = lay_out(memory(2))
        plain = [it.clone().contiguous() for it in (x, grad_output)]
        got = both_ways(op, x, grad_output)
        assert all(map(torch.equal, got, both_ways(op, *plain)))


@every_op
def test_the_result_lies_as_that_of_pytorchs_neg_and_add(op: OpCase) -> None:
    for of_x, of_grad in product(LAYOUTS.values(), repeat=2):
        x, grad_output = of_x(memory(1)), of_grad(memory(2))
        y, grad_input = both_ways(op, x, grad_output)
        assert y.stride() == (-x).stride()
        assert grad_input.stride() == (grad_output + x).stride()


@every_op
@every_layout
def test_inputs_stay_as_they_are(op: OpCase, layout: str) -> None:
    """The bytes that no view shows included."""
    for lay_out in LAYOUTS.values():
        first, second = memory(1), memory(2)
        both_ways(op, LAYOUTS[layout](first), lay_out(second))
        assert torch.equal(first, memory(1))
        assert torch.equal(second, memory(2))
