"""An op leaves the gradient it is given as it was: a sibling reads it."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from triton_grad.ops.gelu import gelu
from triton_grad.ops.gelu_erf import triton_gelu_backward
from triton_grad.ops.square import square, square_backward_op
from triton_grad.oracle import gelu_backward_oracle, square_backward_oracle
from triton_grad.traps.triton_gelu_overwrites_grad_output import (
    TritonGELUOverwritesGradOutput,
)

Op = Callable[[Tensor], Tensor]
Launch = Callable[[Tensor, Tensor], Tensor]


def two_branches(
    op: Op, x: Tensor, upstream: Tensor, sibling_first: bool = True
) -> tuple[Tensor, ...]:
    """Gradients of an op and of a square, its sibling."""
    own, other = x.detach().requires_grad_(), x.detach().requires_grad_()
    if sibling_first:
        sibling, branch = square(other), op(own)
    else:
        branch, sibling = op(own), square(other)
    return torch.autograd.grad(branch + sibling, (own, other), upstream)


def test_the_trap_spoils_its_sibling_and_not_itself(
    x: Tensor,
    weights: Tensor,
    assert_true: Callable[[Tensor | None, Tensor], None],
) -> None:
    # The trap may write into what it is handed: hand it a copy.
    own, other = two_branches(
        TritonGELUOverwritesGradOutput.apply, x, weights.clone()
    )
    leaf = x.detach()
    spoiled = gelu_backward_oracle(weights, leaf)
    assert_true(own, spoiled)
    assert_true(other, square_backward_oracle(spoiled, leaf))
    truth = square_backward_oracle(weights, leaf)
    assert (other - truth).abs().max() > 1


def test_a_sibling_that_was_written_last_is_right(
    x: Tensor,
    weights: Tensor,
    assert_true: Callable[[Tensor | None, Tensor], None],
) -> None:
    upstream = weights.clone()
    trap = TritonGELUOverwritesGradOutput.apply
    _, other = two_branches(trap, x, upstream, sibling_first=False)
    assert_true(other, square_backward_oracle(weights, x.detach()))
    # By luck: the memory that it read was written over right after it.
    assert not torch.equal(upstream, weights)


def test_a_repeated_element_hides_it(
    x: Tensor, assert_true: Callable[[Tensor | None, Tensor], None]
) -> None:
    repeated = torch.ones(1, device=x.device).expand_as(x)
    _, other = two_branches(TritonGELUOverwritesGradOutput.apply, x, repeated)
    assert_true(other, square_backward_oracle(repeated, x.detach()))


def test_the_library_spoils_nothing(
    x: Tensor,
    weights: Tensor,
    assert_true: Callable[[Tensor | None, Tensor], None],
) -> None:
    own, other = two_branches(gelu, x, weights)
    leaf = x.detach()
    assert_true(own, gelu_backward_oracle(weights, leaf))
    assert_true(other, square_backward_oracle(weights, leaf))


@pytest.mark.parametrize("launch", [triton_gelu_backward, square_backward_op])
def test_a_launch_leaves_its_inputs_alone(
    x: Tensor, weights: Tensor, launch: Launch
) -> None:
    leaf = x.detach()
    before = leaf.clone(), weights.clone()
    result = launch(weights, leaf)
    assert torch.equal(leaf, before[0])
    assert torch.equal(weights, before[1])
    assert result.data_ptr() not in (leaf.data_ptr(), weights.data_ptr())
