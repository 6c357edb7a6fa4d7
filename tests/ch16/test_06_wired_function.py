"""TritonGELU runs a kernel each way, and both ways are true."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from triton_grad.elementwise import ElementwiseOp
from triton_grad.ops.gelu import TritonGELU, gelu
from triton_grad.oracle import gelu_backward_oracle, gelu_oracle

Pair = Callable[[int], tuple[Tensor, Tensor]]


@pytest.mark.parametrize("op", [TritonGELU.apply, gelu])
def test_end_to_end_with_a_random_cotangent(
    pair: Pair,
    assert_true: Callable[[Tensor, Tensor], None],
    op: Callable[[Tensor], Tensor],
) -> None:
    x, grad_output = pair(5000)
    z = op(x.requires_grad_())
    (grad,) = torch.autograd.grad(z, x, grad_output)
    x = x.detach()
    assert_true(z.detach(), gelu_oracle(x))
    assert_true(grad, gelu_backward_oracle(grad_output, x))


def test_one_launch_each_way(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    launched: list[str] = []
    call = ElementwiseOp.__call__

    def recorded(op: ElementwiseOp, *inputs: Tensor) -> Tensor:
        launched.append(op.name)
        return call(op, *inputs)

    monkeypatch.setattr(ElementwiseOp, "__call__", recorded)
    x, grad_output = pair(5000)
    gelu(x.requires_grad_()).backward(grad_output)
    assert launched == ["gelu", "gelu_backward"]
