"""Faults that people have met in published kernels: none of them is ours.

Each test has the report's number in its name, and tries the kind of fault,
on every op. Elsewhere: pytorch#187806 (the tail) and pytorch#185770
(infinities) in test_numbers.py, triton#4972 (bfloat16 in the interpreter)
in test_elementwise.py, triton#1058 (32-bit offsets) in test_sizes.py.
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.graph import increment_version

from triton_grad.device import DEVICE
from triton_grad.launch import FLOAT_DTYPES
from triton_grad.testing.cases import OpCase

AssertRight = Callable[[Tensor, Tensor], None]
Draw = Callable[..., Tensor]

# What stands behind an op decides how its gradient lies in memory.
CONSUMERS: dict[str, Callable[[Tensor], Tensor]] = {
    "cat along dim 1": lambda y: torch.cat([y, 2.0 * y.detach()], dim=1),
    "cat along dim 0": lambda y: torch.cat([y.detach(), y], dim=0),
    "stack": lambda y: torch.stack([y, y.detach()], dim=-1),
    "transpose": lambda y: y.t(),
    "permute and reshape": lambda y: y.view(4, 2, 3).permute(2, 0, 1) * 1.0,
    "every second column": lambda y: y[:, ::2],
    "flip": lambda y: y.flip(1),
    "expand": lambda y: y[None].expand(3, 4, 6),
    "sum": lambda y: y.sum(),
    "sum of rows": lambda y: y.sum(1),
    "mean of columns": lambda y: y.mean(0, keepdim=True),
    "diagonal": lambda y: y.diagonal(),
    "matmul": lambda y: y @ torch.ones(6, 5, dtype=y.dtype, device=y.device),
    "imaginary part": lambda y: torch.complex(y.detach(), y).conj().imag,
    "twice": lambda y: y + y.t().reshape(4, 6),
}


def gradient_through(
    function: Callable[[Tensor], Tensor],
    consumer: Callable[[Tensor], Tensor],
    x: Tensor,
) -> tuple[Tensor, list[Tensor]]:
    """The gradient of x behind a consumer, and what came in on the way."""
    incoming: list[Tensor] = []
    leaf = x.detach().requires_grad_()
    y = function(leaf)
    y.register_hook(incoming.append)
    result = consumer(y)
    weights = torch.linspace(-1.0, 2.0, result.numel(), dtype=torch.float64)
    weights = weights.view(result.shape).to(result)
    return torch.autograd.grad(result, leaf, weights)[0], incoming


@pytest.mark.parametrize("consumer", CONSUMERS)
def test_pytorch_194719_the_gradient_out_of_cat(
    op: OpCase, consumer: str, draw: Draw, assert_right: AssertRight
) -> None:
    """There the second row was wrong: a view came in, read by x's strides."""
    x = draw(4, 6, seed=1)
    consume = CONSUMERS[consumer]
    ours, (grad_output,) = gradient_through(op.apply, consume, x)
    theirs, _ = gradient_through(op.reference, consume, x.double())
    assert_right(ours, theirs)
    if consumer == "cat along dim 1":
        assert grad_output.stride() == (12, 1)


def test_transformer_engine_623_the_gradient_of_sum_is_one_element(
    op: OpCase, assert_right: AssertRight, draw: Draw
) -> None:
    """There all rows but the first were read from behind its memory."""
    x = draw(64, 2, seed=2)
    ours, (grad_output,) = gradient_through(op.apply, torch.sum, x)
    assert grad_output.stride() == (0, 0)
    element = grad_output[0, 0].item()
    truth = op.backward_oracle(torch.full_like(x, element), x)
    assert_right(ours, truth)


# Of shape (2, 3, 4), as views of 48 values.
REPORTED_LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "contiguous": lambda v: v[:24].view(2, 3, 4),
    "strided columns": lambda v: v.view(2, 3, 8)[..., ::2],
    "strided rows": lambda v: v.view(2, 6, 4)[:, ::2],
    "transposed leading": lambda v: v[:24].view(3, 2, 4).transpose(0, 1),
    "expanded": lambda v: v[:4].expand(2, 3, 4),
}


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str
)
@pytest.mark.parametrize("grad_layout", REPORTED_LAYOUTS)
@pytest.mark.parametrize("x_layout", REPORTED_LAYOUTS)
def test_unsloth_10675_each_input_beside_each_gradient(
    op: OpCase,
    x_layout: str,
    grad_layout: str,
    dtype: torch.dtype,
    draw: Draw,
    assert_right: AssertRight,
) -> None:
    """There columns were read as if dense, and the gradient written over."""
    memory = [draw(48, seed=seed, dtype=dtype) for seed in (3, 4)]
    before = [values.clone() for values in memory]
    x = REPORTED_LAYOUTS[x_layout](memory[0]).requires_grad_()
    grad_output = REPORTED_LAYOUTS[grad_layout](memory[1])
    y = op.apply(x)
    (grad_input,) = torch.autograd.grad(y, x, grad_output)
    assert_right(y.detach(), op.oracle(x.detach()))
    truth = op.backward_oracle(grad_output, x.detach())
    assert_right(grad_input, truth)
    assert all(map(torch.equal, memory, before))


def test_triton_4004_backward_twice(op: OpCase, draw: Draw) -> None:
    """There a kernel kept the gradient in x, and the second time used it."""
    x = draw(50, seed=5).requires_grad_()
    cotangent = draw(50, seed=6)
    y = op.apply(x)
    tensors = (x, cotangent, y)
    before = [tensor.detach().clone() for tensor in tensors]
    first, second = (
        torch.autograd.grad(y, x, cotangent, retain_graph=True)[0]
        for _ in range(2)
    )
    assert torch.equal(first, second)
    assert all(map(torch.equal, tensors, before))
    assert [tensor._version for tensor in tensors] == [0, 0, 0]


@triton.jit
def overwrite_kernel(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, tl.full([BLOCK], 0.5, tl.float32), offsets < n)


def overwrite(x: Tensor) -> None:
    """Set x to 0.5 in a way that PyTorch does not see."""
    programs: Any = overwrite_kernel[(1,)]
    programs(x.detach(), x.numel(), BLOCK=64)


def test_triton_4004_a_kernels_write_has_to_be_told(
    op: OpCase, draw: Draw, assert_right: AssertRight
) -> None:
    """Once told, autograd refuses what it saved, as for PyTorch's writes.

    Untold, nobody can know: the gradient is that of the new values.
    """
    x = draw(50, seed=7) * 1.0
    x.requires_grad_()
    y = op.apply(x)
    overwrite(x)
    assert x._version == 0
    (grad_input,) = torch.autograd.grad(
        y, x, torch.ones_like(x), retain_graph=True
    )
    new = torch.full_like(x, 0.5)
    assert_right(grad_input, op.backward_oracle(torch.ones_like(x), new))
    increment_version(x)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        torch.autograd.grad(y, x, torch.ones_like(x))


def tensors_on_the_node(node: Any) -> list[Tensor]:
    """What a Function's author has put on ctx, beside autograd's back."""
    return [it for it in vars(node).values() if isinstance(it, Tensor)]


def test_pytorch_76185_the_second_derivative_misses_nothing(
    op: OpCase, draw: Draw
) -> None:
    """There a result of the forward was saved, and counted as a constant."""
    x = draw(40, seed=8, dtype=torch.float64).requires_grad_()
    u, v = (draw(40, seed=s, dtype=torch.float64) for s in (9, 10))

    def second(function: Callable[[Tensor], Tensor]) -> Tensor:
        (first,) = torch.autograd.grad(function(x), x, u, create_graph=True)
        return torch.autograd.grad(first, x, v)[0]

    torch.testing.assert_close(
        second(op.apply), second(op.reference), rtol=1e-12, atol=1e-13
    )


def test_pytorch_76185_only_inputs_are_saved(op: OpCase, draw: Draw) -> None:
    x = draw(8, seed=11).requires_grad_()
    grad_output = draw(8, seed=12).requires_grad_()
    for result, inputs in (
        (op.apply(x), (x,)),
        (op.grad_function.apply(grad_output, x), (grad_output, x)),
    ):
        node: Any = result.grad_fn
        assert len(node.saved_tensors) == len(inputs)
        for saved, given in zip(node.saved_tensors, inputs, strict=True):
            assert saved is given
        assert tensors_on_the_node(node) == []


@pytest.mark.usefixtures("poisoned_memory")
@pytest.mark.parametrize("dtype", FLOAT_DTYPES, ids=str)
def test_triton_9230_no_element_is_left_to_another_launch(
    op: OpCase, dtype: torch.dtype, draw: Draw, assert_right: AssertRight
) -> None:
    """There each trial wrote a part of one output, and it seemed whole."""
    assert torch.empty(8, dtype=dtype, device=DEVICE).isnan().all()
    for n, block in ((1, 64), (64, 64), (65, 64), (200, 128), (77, 1024)):
        x = draw(n, 3, seed=13, dtype=dtype)[:, 1]
        grad_output = draw(n, seed=14, dtype=dtype)
        assert_right(op.forward(x, BLOCK=block), op.oracle(x))
        assert_right(
            op.backward(grad_output, x, BLOCK=block),
            op.backward_oracle(grad_output, x),
        )
