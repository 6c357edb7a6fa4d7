"""What autograd may ask of an op, tried on all of them."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.checkpoint import checkpoint

from triton_grad.device import DEVICE
from triton_grad.testing.cases import OpCase

AssertRight = Callable[[Tensor, Tensor], None]
Draw = Callable[..., Tensor]


def test_gradcheck(op: OpCase, draw: Draw) -> None:
    x = draw(4, seed=14, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(
        op.apply,
        x,
        check_batched_grad=True,
        check_forward_ad=True,
        check_batched_forward_grad=True,
    )


def test_gradgradcheck(op: OpCase, draw: Draw) -> None:
    x = draw(3, seed=15, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradgradcheck(
        op.apply, x, check_batched_grad=True, check_fwd_over_rev=True
    )


def test_the_backward_has_second_derivatives_too(
    op: OpCase, draw: Draw
) -> None:
    """By grad_output as well, and by the cotangent of its first ones."""
    grad_output, x = (
        draw(3, seed=seed, dtype=torch.float64).requires_grad_()
        for seed in (19, 20)
    )
    assert torch.autograd.gradcheck(
        op.grad_function.apply,
        (grad_output, x),
        check_batched_grad=True,
        check_forward_ad=True,
    )
    assert torch.autograd.gradgradcheck(
        op.grad_function.apply,
        (grad_output, x),
        check_batched_grad=True,
        check_fwd_over_rev=True,
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


def test_the_third_derivative_is_pytorchs(op: OpCase, draw: Draw) -> None:
    cotangents = [draw(40, seed=s, dtype=torch.float64) for s in (31, 32, 33)]

    def third(function: Callable[[Tensor], Tensor]) -> Tensor:
        x = draw(40, seed=30, dtype=torch.float64).requires_grad_()
        # Its third derivative is no constant, whichever op it is.
        derivative = function(x).sin()
        for cotangent in cotangents:
            (derivative,) = torch.autograd.grad(
                derivative, x, cotangent, create_graph=True
            )
        return derivative

    ours, theirs = third(op.apply), third(op.reference)
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


EDITS: dict[str, Callable[[Tensor], object]] = {
    "itself": lambda x: x.add_(1.0),
    "a view": lambda x: x[1:].zero_(),
    "a reshaped view": lambda x: x.view(2, 2).t().mul_(2.0),
    "its detached alias": lambda x: x.detach()[0].fill_(5.0),
    "what it is a view of": lambda x: x._base.add_(1.0),  # pyright: ignore[reportOptionalMemberAccess]
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_of_a_saved_tensor_is_noticed(
    op: OpCase, edit: str, draw: Draw
) -> None:
    leaf = draw(5, seed=18).requires_grad_()
    x = (leaf * 1.0)[1:]
    y = op.apply(x)
    with torch.no_grad():
        EDITS[edit](x)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        y.sum().backward()


def test_the_result_may_be_edited(
    op: OpCase, draw: Draw, assert_right: AssertRight
) -> None:
    """It is not needed again. An edit that autograd sees counts."""
    x, grad_output = draw(9, seed=34).requires_grad_(), draw(9, seed=35)
    y = op.apply(x)
    y.mul_(3.0)
    (grad_input,) = torch.autograd.grad(y, x, grad_output)
    truth = op.backward_oracle(3.0 * grad_output, x.detach())
    assert_right(grad_input, truth)


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


def test_a_graph_that_was_not_retained_is_gone(
    op: OpCase, draw: Draw
) -> None:
    y = op.apply(draw(3, seed=36).requires_grad_()).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a se"):
        y.backward()


@pytest.mark.parametrize("needed", [False, True])
def test_what_is_saved(op: OpCase, needed: bool, draw: Draw) -> None:
    """The input's own memory, once, and only if a gradient may come."""
    saved: list[Tensor] = []

    def pack(tensor: Tensor) -> Tensor:
        saved.append(tensor)
        return tensor

    x = draw(6, seed=37).requires_grad_(needed)
    with saved_tensors_hooks(pack, lambda tensor: tensor):
        y = op.apply(x * 1.0)
    # Multiplying by a number saves nothing.
    assert len(saved) == needed
    assert y.requires_grad == needed


def test_hooks_that_move_what_is_saved(
    op: OpCase, draw: Draw, assert_right: AssertRight
) -> None:
    """As torch.autograd.graph.save_on_cpu does; second order as well."""
    x, cotangent = draw(9, seed=38).requires_grad_(), draw(9, seed=39)

    def both_orders() -> tuple[Tensor, Tensor]:
        y = op.apply(x)
        (first,) = torch.autograd.grad(y, x, cotangent, create_graph=True)
        (second,) = torch.autograd.grad(first, x, cotangent)
        return first.detach(), second

    with saved_tensors_hooks(
        lambda tensor: tensor.to("cpu", copy=True).numpy(force=True),
        lambda array: torch.from_numpy(array).to(DEVICE),
    ):
        elsewhere = both_orders()
    assert_right(elsewhere[0], op.backward_oracle(cotangent, x.detach()))
    assert all(map(torch.equal, elsewhere, both_orders()))


def test_checkpoint(
    op: OpCase, draw: Draw, assert_right: AssertRight
) -> None:
    x, grad_output = draw(9, seed=40).requires_grad_(), draw(9, seed=41)
    y = checkpoint(op.apply, x, use_reentrant=False)
    (grad_input,) = torch.autograd.grad(y, x, grad_output)
    assert_right(grad_input, op.backward_oracle(grad_output, x.detach()))


@pytest.mark.parametrize(
    "mode", [torch.no_grad, torch.inference_mode], ids=lambda m: m.__name__
)
def test_where_nothing_is_recorded(
    op: OpCase, mode: Callable[[], torch.no_grad], draw: Draw
) -> None:
    x = draw(4, seed=42).requires_grad_()
    with mode():
        y, reference = op.apply(x), op.reference(x)
    assert y.requires_grad == reference.requires_grad
    assert y.is_inference() == reference.is_inference()
    assert torch.equal(y, op.apply(x))


def test_hooks_on_both_sides(
    op: OpCase, draw: Draw, assert_right: AssertRight
) -> None:
    x, grad_output = draw(9, seed=43).requires_grad_(), draw(9, seed=44)
    seen: list[Tensor] = []
    x.register_hook(seen.append)
    y = op.apply(x)
    y.register_hook(lambda grad: 2.0 * grad)
    y.backward(grad_output)
    truth = op.backward_oracle(2.0 * grad_output, x.detach())
    assert_right(seen[0], truth)
    assert x.grad is not None
    assert_right(x.grad, truth)


def test_between_other_ops(op: OpCase, draw: Draw) -> None:
    """x is no leaf, and the gradients come, transposed, out of a cat."""

    def gradients(function: Callable[[Tensor], Tensor]) -> list[Tensor]:
        a, b = (
            draw(3, 4, seed=seed, dtype=torch.float64).requires_grad_()
            for seed in (45, 46)
        )
        joined = torch.cat([function(3.0 * a), function(b + a)], dim=1).t()
        weights = draw(8, 3, seed=47, dtype=torch.float64)
        (joined * weights).sum().backward()
        return [leaf.grad for leaf in (a, b) if leaf.grad is not None]

    ours, theirs = gradients(op.apply), gradients(op.reference)
    assert len(ours) == 2
    torch.testing.assert_close(ours, theirs, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str
)
def test_dual_numbers(
    op: OpCase, dtype: torch.dtype, draw: Draw, assert_right: AssertRight
) -> None:
    """Forward mode: the Jacobian is diagonal, so it is the backward's."""
    x, tangent = (draw(30, seed=seed, dtype=dtype) for seed in (48, 49))
    with forward_ad.dual_level():
        dual = op.apply(forward_ad.make_dual(x, tangent))
        value, derivative = forward_ad.unpack_dual(dual)
    assert derivative is not None
    assert derivative.dtype == dtype
    assert_right(value, op.oracle(x))
    assert_right(derivative, op.backward_oracle(tangent, x))


@pytest.mark.parametrize("moved", ["grad_output", "x", "both"])
def test_dual_numbers_through_the_backward(
    op: OpCase, moved: str, draw: Draw
) -> None:
    grad_output, x, along_grad, along_x = (
        draw(30, seed=seed, dtype=torch.float64) for seed in range(50, 54)
    )

    def backward(grad_output: Tensor, x: Tensor) -> Tensor:
        leaf = x.clone().requires_grad_()
        y = op.reference(leaf)
        return torch.autograd.grad(y, leaf, grad_output, create_graph=True)[0]

    with forward_ad.dual_level():
        inputs = [grad_output, x]
        if moved != "x":
            inputs[0] = forward_ad.make_dual(grad_output, along_grad)
        if moved != "grad_output":
            inputs[1] = forward_ad.make_dual(x, along_x)
        ours = forward_ad.unpack_dual(op.grad_function.apply(*inputs))
        theirs = forward_ad.unpack_dual(backward(*inputs))
    torch.testing.assert_close(ours.primal, theirs.primal)
    torch.testing.assert_close(ours.tangent, theirs.tangent)


def test_autocast(op: OpCase, draw: Draw) -> None:
    """bf16 comes out of the Linear, and goes through; gradients are fp32."""
    linear = torch.nn.Linear(16, 8, device=DEVICE)
    x, weights = draw(5, 16, seed=54), draw(5, 8, seed=55)

    def step(
        function: Callable[[Tensor], Tensor],
    ) -> tuple[torch.dtype, torch.dtype, Tensor]:
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            y = function(linear(x))
            of_float32 = function(x)
        (grad,) = torch.autograd.grad((y * weights).sum(), linear.weight)
        return y.dtype, of_float32.dtype, grad

    # On a GPU torch.square is a power to autocast, and those it widens.
    theirs = step(lambda x: op.reference(x).to(x.dtype))
    ours = step(op.apply)
    assert ours[:2] == theirs[:2] == (torch.bfloat16, torch.float32)
    # Both round to bf16 on the way, not always to the same side.
    bound = 2**-7 * theirs[2].abs().max().item()
    torch.testing.assert_close(ours[2], theirs[2], rtol=0.0, atol=bound)
