"""What autograd may ask of an op, tried on all of them."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from triton_grad.testing.cases import OpCase

Draw = Callable[..., Tensor]


def test_gradcheck(op: OpCase, draw: Draw) -> None:
    x = draw(7, seed=14, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(op.apply, x)


def test_gradgradcheck(op: OpCase, draw: Draw) -> None:
    x = draw(5, seed=15, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradgradcheck(op.apply, x)


def test_the_backward_has_second_derivatives_too(
    op: OpCase, draw: Draw
) -> None:
    """By grad_output as well, and by the cotangent of its first ones."""
    grad_output, x = (
        draw(5, seed=seed, dtype=torch.float64).requires_grad_()
        for seed in (19, 20)
    )
    assert torch.autograd.gradgradcheck(
        op.grad_function.apply, (grad_output, x)
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_second_order_in_16_bits(
    op: OpCase, dtype: torch.dtype, draw: Draw
) -> None:
    x = draw(200, seed=16, dtype=dtype).requires_grad_()
    cotangent = draw(200, seed=17, dtype=dtype)
    wide = x.detach().double().requires_grad_()
    second = _second_derivative(op.apply, x, cotangent)
    truth = _second_derivative(op.reference, wide, cotangent.double())
    assert second.dtype == dtype
    rtol = 2 * torch.finfo(dtype).eps
    torch.testing.assert_close(second.double(), truth, rtol=rtol, atol=1e-6)


def _second_derivative(
    function: Callable[[Tensor], Tensor], x: Tensor, cotangent: Tensor
) -> Tensor:
    (first,) = torch.autograd.grad(
        function(x), x, torch.ones_like(x), create_graph=True
    )
    (second,) = torch.autograd.grad(first, x, cotangent)
    return second


def test_an_edit_of_a_saved_tensor_is_noticed(op: OpCase, draw: Draw) -> None:
    leaf = draw(4, seed=18).requires_grad_()
    x = leaf * 1.0
    y = op.apply(x)
    with torch.no_grad():
        x.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        y.sum().backward()


@pytest.mark.parametrize("edited", [0, 1], ids=["grad_output", "x"])
def test_an_edit_of_what_the_backward_saved_is_noticed(
    op: OpCase, edited: int, draw: Draw
) -> None:
    inputs = [draw(4, seed=seed).requires_grad_() * 1.0 for seed in (21, 22)]
    y = op.grad_function.apply(*inputs)
    with torch.no_grad():
        inputs[edited].add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        y.sum().backward()


def test_no_work_for_a_gradient_nobody_asked_for(
    op: OpCase, monkeypatch: pytest.MonkeyPatch, draw: Draw
) -> None:
    grad_output, x, grad = (draw(8, seed=s) for s in (15, 16, 17))
    function = op.grad_function

    def must_not_run(*_: object) -> Tensor:
        raise AssertionError("computed a gradient that nobody asked for")

    with monkeypatch.context() as patch:
        only_grad_output = grad_output.clone().requires_grad_()
        result = function.apply(only_grad_output, x)
        patch.setattr(function, "second_derivative", must_not_run)
        torch.autograd.grad(result, only_grad_output, grad)
    with monkeypatch.context() as patch:
        only_x = x.clone().requires_grad_()
        result = function.apply(grad_output, only_x)
        patch.setattr(function, "apply", must_not_run)
        torch.autograd.grad(result, only_x, grad)


def test_backward_twice_gives_the_same(op: OpCase, draw: Draw) -> None:
    x = draw(50, seed=19).requires_grad_()
    y = op.apply(x)
    cotangent = draw(50, seed=20)
    first = torch.autograd.grad(y, x, cotangent, retain_graph=True)[0]
    second = torch.autograd.grad(y, x, cotangent)[0]
    assert torch.equal(first, second)
