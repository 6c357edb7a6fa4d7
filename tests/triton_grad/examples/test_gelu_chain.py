"""2 gelu(x) + 1 in one kernel a direction."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.examples.gelu_chain import gelu_chain
from triton_grad.testing.check import check_op
from triton_grad.testing.report import Verdict

Draw = Callable[..., Tensor]
AssertRight = Callable[[Tensor, Tensor], None]
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def truth(x: Tensor) -> Tensor:
    return 2.0 * F.gelu(x) + 1.0


def gradients(
    op: Callable[[Tensor], Tensor], x: Tensor, grad_output: Tensor
) -> tuple[Tensor, Tensor]:
    """What the op gives, and its gradient."""
    leaf = x.detach().requires_grad_()
    y = op(leaf)
    (grad,) = torch.autograd.grad(y, leaf, grad_output)
    return y.detach(), grad


def test_check_op_finds_nothing() -> None:
    report = check_op(gelu_chain, truth, dtypes=DTYPES)
    report.assert_right()
    refused = [
        it.check for it in report.results if it.verdict is Verdict.REFUSES
    ]
    assert refused == ["second order"]


@pytest.mark.parametrize("n", [0, 1, 1023, 1024, 1025, 3000])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_both_directions(
    draw: Draw, assert_right: AssertRight, n: int, dtype: torch.dtype
) -> None:
    x, grad_output = (draw(n, seed=seed, dtype=dtype) for seed in (1, 2))
    y, grad = gradients(gelu_chain, x, grad_output)
    assert y.dtype == grad.dtype == dtype
    true_y, true_grad = gradients(truth, x.double(), grad_output.double())
    assert_right(grad, true_grad)
    # Around y = 0 the sum cancels what rounding has left of 2 gelu(x).
    eps = torch.finfo(dtype).eps
    torch.testing.assert_close(y.double(), true_y, rtol=eps, atol=8 * eps)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_it_rounds_once(draw: Draw, dtype: torch.dtype) -> None:
    """It is the truth, rounded; PyTorch's three ops are often not."""
    x = draw(4000, seed=3, dtype=dtype)
    nearest = truth(x.double()).to(dtype)
    ours = (gelu_chain(x) != nearest).double().mean().item()
    theirs = (truth(x) != nearest).double().mean().item()
    assert ours < 0.001 < 0.05 < theirs


def test_two_layouts(draw: Draw, assert_right: AssertRight) -> None:
    x, grad_output = draw(40, 30, seed=4).t(), draw(30, 80, seed=5)[:, ::2]
    y, grad = gradients(gelu_chain, x, grad_output)
    assert y.stride() == x.stride()
    true_y, true_grad = gradients(truth, x.double(), grad_output.double())
    torch.testing.assert_close(y.double(), true_y, rtol=1e-6, atol=1e-6)
    assert_right(grad, true_grad)


def test_a_gradient_overflows_only_where_it_must() -> None:
    """Twice grad_output is too large, the gradient is not."""
    x = torch.tensor([-2.0, 1.0], device=DEVICE)
    grad_output = torch.full((2,), 3e38, device=DEVICE)
    _, grad = gradients(gelu_chain, x, grad_output)
    _, true_grad = gradients(truth, x.double(), grad_output.double())
    torch.testing.assert_close(grad, true_grad.float(), rtol=1e-5, atol=0.0)
    assert grad.tolist()[1] == float("inf")


def test_the_second_derivative_is_refused() -> None:
    x = torch.ones(3, device=DEVICE, requires_grad=True)
    with pytest.raises(NotImplementedError, match="differentiable once"):
        torch.autograd.grad(gelu_chain(x).sum(), x, create_graph=True)
