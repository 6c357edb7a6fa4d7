"""The transforms of torch.func, tried on all ops, beside PyTorch's own."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.autograd import functional
from torch.func import (
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    vjp,
    vmap,
)

from triton_grad import elementwise
from triton_grad.testing.cases import OpCase

AssertRight = Callable[[Tensor, Tensor], None]
Draw = Callable[..., Tensor]
Function = Callable[[Tensor], Tensor]


def loss_of(function: Function) -> Function:
    """A loss that hands down anything but ones."""
    return lambda x: function(x).sin().sum()


def rows_batched(function: Function, x: Tensor) -> Tensor:
    """All rows of the Jacobian by one backward."""
    leaf = x.detach().requires_grad_()
    rows = torch.eye(x.numel(), dtype=x.dtype, device=x.device)
    (jacobian,) = torch.autograd.grad(
        function(leaf),
        leaf,
        rows.view(-1, *x.shape),
        is_grads_batched=True,
    )
    return jacobian


# Each makes of a function and a matrix x what there is to compare.
TRANSFORMS: dict[str, Callable[[Function, Tensor], Tensor]] = {
    "grad": lambda f, x: grad(loss_of(f))(x),
    "vjp": lambda f, x: vjp(f, x)[1](x.cos())[0],
    "jvp": lambda f, x: jvp(f, (x,), (x.cos(),))[1],
    "linearize": lambda f, x: linearize(f, x)[1](x.cos()),
    "jacrev": lambda f, x: jacrev(f)(x),
    "jacfwd": lambda f, x: jacfwd(f)(x),
    "hessian": lambda f, x: hessian(loss_of(f))(x),
    "jacrev of jacrev": lambda f, x: jacrev(jacrev(f))(x[0]),
    "jacrev of jacfwd": lambda f, x: jacrev(jacfwd(f))(x[0]),
    "jacfwd of jacfwd": lambda f, x: jacfwd(jacfwd(f))(x[0]),
    "vmap": lambda f, x: vmap(f)(x),
    "vmap over columns": lambda f, x: vmap(f, in_dims=1, out_dims=1)(x),
    "vmap of vmap": lambda f, x: vmap(vmap(f), in_dims=1)(x),
    "vmap in chunks": lambda f, x: vmap(f, chunk_size=2)(x),
    "vmap of grad": lambda f, x: vmap(grad(loss_of(f)), in_dims=1)(x),
    "grad of vmap": lambda f, x: grad(loss_of(vmap(f, in_dims=1)))(x),
    "vmap of hessian": lambda f, x: vmap(hessian(loss_of(f)))(x),
    "vmap of jvp": lambda f, x: vmap(lambda t: jvp(f, (x,), (t,))[1])(
        torch.stack([x.cos(), x.sin()])
    ),
    "jvp of vmap": lambda f, x: jvp(vmap(f), (x,), (x.cos(),))[1],
    "functional.jacobian": lambda f, x: _one(
        functional.jacobian(f, x, vectorize=True)
    ),
    "functional.jacobian, forward mode": lambda f, x: _one(
        functional.jacobian(f, x, vectorize=True, strategy="forward-mode")
    ),
    "functional.hessian": lambda f, x: _one(
        functional.hessian(loss_of(f), x, vectorize=True)
    ),
    "is_grads_batched": rows_batched,
}


def _one(result: object) -> Tensor:
    assert isinstance(result, Tensor)
    return result


LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "contiguous": lambda v: v[:12].view(3, 4),
    "sliced and transposed": lambda v: v.view(8, 3)[::2].t(),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_transforms(
    op: OpCase, transform: str, layout: str, draw: Draw
) -> None:
    x = LAYOUTS[layout](draw(24, seed=1, dtype=torch.float64))
    ours = TRANSFORMS[transform](op.apply, x)
    theirs = TRANSFORMS[transform](op.reference, x)
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_transforms_in_float32(
    op: OpCase, transform: str, draw: Draw
) -> None:
    x = draw(3, 4, seed=2)
    ours = TRANSFORMS[transform](op.apply, x)
    truth = TRANSFORMS[transform](op.reference, x.double())
    assert ours.dtype == torch.float32
    # Some units of 2**-24 for each of a handful of operations.
    torch.testing.assert_close(ours.double(), truth, rtol=4e-6, atol=4e-6)


IN_DIMS = [(0, 0), (1, 0), (2, 1), (-1, 0), (0, None), (None, 2), (0, -2)]


@pytest.mark.parametrize("in_dims", IN_DIMS, ids=str)
def test_vmap_over_the_launches(
    op: OpCase,
    in_dims: tuple[int | None, int | None],
    draw: Draw,
    assert_right: AssertRight,
) -> None:
    """Every input batched along a dimension of its own, or not at all."""
    batch = [draw(5, 3, 4, seed=seed) for seed in (3, 4)]
    inputs = [
        values[0] if dim is None else values.movedim(0, dim)
        for values, dim in zip(batch, in_dims, strict=True)
    ]
    grad_output, x = (
        values[:1].expand_as(values) if dim is None else values
        for values, dim in zip(batch, in_dims, strict=True)
    )
    backward = vmap(lambda g, x: op.backward(g, x, BLOCK=16), in_dims)
    assert_right(backward(*inputs), op.backward_oracle(grad_output, x))
    if in_dims[1] is not None:
        forward = vmap(lambda x: op.forward(x, BLOCK=16), in_dims[1])
        assert_right(forward(inputs[1]), op.oracle(x))


def test_vmap_launches_once(
    op: OpCase, monkeypatch: pytest.MonkeyPatch, draw: Draw
) -> None:
    """A batch is a larger tensor, not a loop."""
    shapes: list[tuple[int, ...]] = []
    blocks: list[int] = []
    launch = elementwise.launch_elementwise

    def spy(name: str, kernel: object, *inputs: Tensor, BLOCK: int) -> Tensor:
        shapes.append(tuple(inputs[0].shape))
        blocks.append(BLOCK)
        return launch(name, kernel, *inputs, BLOCK=BLOCK)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(elementwise, "launch_elementwise", spy)
    vmap(vmap(grad(loss_of(op.apply))))(draw(6, 5, 4, seed=5))
    assert shapes == [(5, 6, 4)] * 2 or shapes == [(6, 5, 4)] * 2
    vmap(lambda x: op.forward(x, BLOCK=64))(draw(6, 5, seed=6))
    assert blocks == [1024, 1024, 64]


def escaped_from(
    transform: Callable[[Function], Callable[..., object]], x: Tensor
) -> Tensor:
    kept: list[Tensor] = []

    def keep(x: Tensor) -> Tensor:
        kept.append(x)
        return x.sum()

    transform(keep)(x)
    return kept[0]


def test_what_escaped_from_grad_is_a_tensor_again(
    op: OpCase, draw: Draw, assert_right: AssertRight
) -> None:
    x = draw(7, seed=6)
    escaped = escaped_from(grad, x)
    assert_right(op.apply(escaped), op.oracle(x))
    assert_right(op.forward(escaped), op.oracle(x))
    assert_right(op.backward(escaped, x), op.backward_oracle(x, x))


def test_what_escaped_from_vmap_is_refused(op: OpCase, draw: Draw) -> None:
    """As by PyTorch's own ops, and not with a failed assertion of theirs."""
    escaped = escaped_from(vmap, draw(7, 2, seed=7))
    with pytest.raises(RuntimeError, match="escaped from"):
        op.reference(escaped)
    for launch in (op.apply, op.forward, lambda x: op.backward(x, x)):
        with pytest.raises(RuntimeError, match=r"\(\) got .* escaped from"):
            launch(escaped)
