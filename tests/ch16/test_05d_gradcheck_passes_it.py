"""gradcheck cannot tell the naive wrapper from the right one."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.ops.gelu import gelu
from triton_grad.oracle import gelu_backward_oracle
from triton_grad.traps.triton_gelu_backward_no_contiguous import (
    TritonGELUNoContiguous,
)

Op = Callable[[Tensor], Tensor]


def drawn(rows: int, columns: int) -> Tensor:
    generator = torch.Generator().manual_seed(10)
    x = torch.randn(rows, columns, generator=generator, dtype=torch.float64)
    return x.to(DEVICE)


@pytest.mark.parametrize("op", [gelu, TritonGELUNoContiguous.apply])
def test_it_passes_both(op: Op) -> None:
    assert torch.autograd.gradcheck(op, drawn(3, 5).requires_grad_())


@pytest.mark.parametrize(
    ("op", "right"), [(gelu, True), (TritonGELUNoContiguous.apply, False)]
)
def test_a_transpose_behind_the_op_tells_them_apart(
    op: Op, right: bool
) -> None:
    x, weight = drawn(3, 5).requires_grad_(), drawn(5, 3)
    (grad,) = torch.autograd.grad((op(x).T * weight).sum(), x)
    truth = gelu_backward_oracle(weight.T, x.detach())
    assert torch.allclose(grad, truth, rtol=1e-12, atol=1e-12) == right
