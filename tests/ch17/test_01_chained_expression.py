"""Before any affine line the op is handed that line's slope."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.ops.gelu import gelu
from triton_grad.oracle import gelu_backward_oracle


@pytest.mark.parametrize(("slope", "shift"), [(2.0, 1.0), (-0.75, 3.0)])
def test_the_slope_after_the_op_is_its_grad_output(
    x: Tensor,
    backward_calls: list[tuple[str, Tensor]],
    assert_true: Callable[[Tensor | None, Tensor], None],
    slope: float,
    shift: float,
) -> None:
    (slope * gelu(x) + shift).sum().backward()
    ((op, grad_output),) = backward_calls
    assert op == "gelu"
    assert torch.equal(grad_output, torch.full_like(x, slope))
    assert_true(x.grad, gelu_backward_oracle(grad_output, x.detach()))


def test_the_figures_of_the_chapter() -> None:
    torch.manual_seed(3)
    leaf = torch.randn(6).to(DEVICE).requires_grad_()
    z = gelu(leaf)
    seen: list[Tensor] = []
    z.register_hook(seen.append)
    (2 * z + 1).sum().backward()
    assert seen[0].tolist() == [2.0] * 6
    expected = [2.0424, 1.2762, 1.1416, 0.1338, 1.0736, -0.2569]
    assert leaf.grad is not None
    assert leaf.grad.tolist() == pytest.approx(expected, abs=5e-5)
