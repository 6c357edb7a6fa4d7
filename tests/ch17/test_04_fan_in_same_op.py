"""However often a result is summed, its backward runs once."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from triton_grad.ops.gelu import gelu
from triton_grad.oracle import gelu_backward_oracle


@pytest.mark.parametrize("uses", [1, 2, 5])
def test_one_call_with_the_number_of_uses(
    x: Tensor,
    backward_calls: list[tuple[str, Tensor]],
    assert_true: Callable[[Tensor | None, Tensor], None],
    uses: int,
) -> None:
    z = gelu(x)
    torch.stack([z.sum() for _ in range(uses)]).sum().backward()
    ((_, grad_output),) = backward_calls
    assert torch.equal(grad_output, torch.full_like(x, float(uses)))
    assert_true(x.grad, gelu_backward_oracle(grad_output, x.detach()))
