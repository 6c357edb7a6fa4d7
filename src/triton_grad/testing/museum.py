"""The traps, each beside its truth and a test that passes it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from triton_grad.oracle import gelu_oracle
from triton_grad.testing.weak_tests import (
    WeakTest,
    first_gradient_only,
    sum_backward,
)
from triton_grad.traps.gelu_backward_kernel_no_chain_rule import (
    TritonGELUNoChainRule,
)
from triton_grad.traps.triton_gelu_overwrites_grad_output import (
    TritonGELUOverwritesGradOutput,
)
from triton_grad.traps.triton_gelu_raw_backward import TritonGELURawBackward


@dataclass(frozen=True)
class Exhibit:
    """A trap, and what has to be known to judge a test by it.

    Attributes:
        name: The trap's module in `triton_grad.traps`.
        family: One of `FAMILIES`.
        op: The wrong op, differentiable.
        oracle: The right one, in PyTorch; it takes the same arguments.
        inputs: These, as `check_op` takes them.
        cause: The name of the cause that `check_op` has to find.
        misses: A test that passes the trap.
        needs: The least on which it can be caught: "interpreter", "a GPU"
            or "two GPUs".
        options: Further keyword arguments of `check_op`.
    """

    name: str
    family: str
    op: Callable[..., Tensor]
    oracle: Callable[..., Tensor]
    inputs: Sequence[Any]
    cause: str
    misses: WeakTest
    needs: str = "interpreter"
    options: Mapping[str, Any] = field(default_factory=dict)


FAMILIES = (
    "Chain rule",
    "Masks and grids",
    "Layouts",
    "Precision",
    "Reductions",
    "Autograd",
    "Launches",
)

EXHIBITS = (
    Exhibit(
        name="gelu_backward_kernel_no_chain_rule",
        family="Chain rule",
        op=TritonGELUNoChainRule.apply,
        oracle=gelu_oracle,
        inputs=("...",),
        cause="no chain rule",
        misses=sum_backward,
    ),
    Exhibit(
        name="triton_gelu_overwrites_grad_output",
        family="Autograd",
        op=TritonGELUOverwritesGradOutput.apply,
        oracle=gelu_oracle,
        inputs=("...",),
        cause="writes into grad_output",
        misses=sum_backward,
    ),
    Exhibit(
        name="triton_gelu_raw_backward",
        family="Autograd",
        op=TritonGELURawBackward.apply,
        oracle=gelu_oracle,
        inputs=("...",),
        cause="second order dropped",
        misses=first_gradient_only,
    ),
)
