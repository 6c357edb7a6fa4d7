"""What every elementwise op promises, tried on all of them."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.launch import FLOAT_DTYPES
from triton_grad.testing.cases import OpCase
from triton_grad.testing.layouts import (
    LAYOUT_SHAPE,
    LAYOUT_VALUES,
    LAYOUTS,
)

AssertRight = Callable[[Tensor, Tensor], None]
Draw = Callable[..., Tensor]


@pytest.mark.parametrize("dtype", FLOAT_DTYPES, ids=str)
def test_dtypes(
    op: OpCase, dtype: torch.dtype, draw: Draw, assert_right: AssertRight
) -> None:
    x = 1.5 * draw(3000, seed=3, dtype=dtype)
    grad_output = draw(3000, seed=4, dtype=dtype)
    y = op.forward(x)
    grad_input = op.backward(grad_output, x)
    assert y.dtype == grad_input.dtype == dtype
    assert_right(y, op.oracle(x))
    assert_right(grad_input, op.backward_oracle(grad_output, x))


@pytest.mark.parametrize("dtype", FLOAT_DTYPES, ids=str)
def test_agrees_with_pytorch(
    op: OpCase, dtype: torch.dtype, draw: Draw, assert_right: AssertRight
) -> None:
    """PyTorch's own op in float64: a second truth, not written by us."""
    x = draw(1000, seed=5, dtype=dtype).requires_grad_()
    grad_output = draw(1000, seed=6, dtype=dtype)
    wide = x.detach().double().requires_grad_()
    y, reference = op.apply(x), op.reference(wide)
    (ours,) = torch.autograd.grad(y, x, grad_output)
    (theirs,) = torch.autograd.grad(reference, wide, grad_output.double())
    assert_right(y.detach(), reference.detach())
    assert_right(ours, theirs)


def test_bfloat16_rounds_to_nearest(op: OpCase, draw: Draw) -> None:
    """triton#4972: by itself the interpreter cuts the digits off."""
    x = draw(3000, seed=21, dtype=torch.bfloat16)
    exact = op.forward(x.float())
    assert torch.equal(op.forward(x), exact.bfloat16())
    cut_off = (exact.view(torch.int32) >> 16 << 16).view(torch.float32)
    assert (cut_off != exact.bfloat16().float()).float().mean() > 0.4


@pytest.mark.parametrize("grad_layout", LAYOUTS)
@pytest.mark.parametrize("x_layout", LAYOUTS)
def test_any_layout_beside_any_other(
    op: OpCase,
    x_layout: str,
    grad_layout: str,
    draw: Draw,
    assert_right: AssertRight,
) -> None:
    x = LAYOUTS[x_layout](draw(LAYOUT_VALUES, seed=7))
    grad_output = LAYOUTS[grad_layout](draw(LAYOUT_VALUES, seed=8))
    leaf = x.detach().requires_grad_()
    y = op.apply(leaf)
    (grad_input,) = torch.autograd.grad(y, leaf, grad_output)
    assert y.shape == grad_input.shape == LAYOUT_SHAPE
    assert_right(y.detach(), op.oracle(x))
    assert_right(grad_input, op.backward_oracle(grad_output, x))


def test_layouts_are_what_their_names_say(draw: Draw) -> None:
    made = {
        name: make(draw(LAYOUT_VALUES, seed=9))
        for name, make in LAYOUTS.items()
    }
    in_order = {name for name, t in made.items() if t.is_contiguous()}
    assert in_order == {"contiguous", "offset"}
    assert made["one element"].stride() == (0, 0, 0, 0)
    assert made["channels last"].is_contiguous(
        memory_format=torch.channels_last
    )
    assert all(t.shape == LAYOUT_SHAPE for t in made.values())


def test_zero_dimensional(op: OpCase, assert_right: AssertRight) -> None:
    x = torch.tensor(0.7, device=DEVICE, requires_grad=True)
    grad_output = torch.tensor(-1.3, device=DEVICE)
    y = op.apply(x)
    (grad_input,) = torch.autograd.grad(y, x, grad_output)
    assert y.shape == grad_input.shape == ()
    assert_right(y.detach(), op.oracle(x.detach()))
    assert_right(grad_input, op.backward_oracle(grad_output, x.detach()))


def test_a_view_that_holds_the_other_sign(
    op: OpCase, assert_right: AssertRight
) -> None:
    """Contiguous already, so that contiguous() alone changes nothing."""
    x = torch.tensor([1.0 + 2.0j], device=DEVICE).conj().imag
    grad_output = torch.tensor([1.0 + 3.0j], device=DEVICE).conj().imag
    assert x.is_neg()
    assert x.is_contiguous()
    assert_right(op.forward(x), op.oracle(x))
    assert_right(
        op.backward(grad_output, x), op.backward_oracle(grad_output, x)
    )


def test_autograds_zeros_that_have_no_memory(
    op: OpCase, assert_right: AssertRight
) -> None:
    """What differentiating abs() twice hands down, transposed as well."""
    make = torch._efficientzerotensor  # pyright: ignore[reportPrivateImportUsage]
    zeros = make((4, 3), device=DEVICE).t()
    assert zeros._is_zerotensor()
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(8))
    x = x.to(DEVICE)
    assert_right(op.backward(zeros, x), torch.zeros_like(x).double())

    def curvature(apply: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        x = x.detach().requires_grad_()
        loss = apply(x).abs().sum()
        (grad,) = torch.autograd.grad(loss, x, create_graph=True)
        return torch.autograd.grad(grad.sum(), x)[0]

    assert_right(curvature(op.apply, x), curvature(op.reference, x.double()))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_neither_input_is_written(
    op: OpCase, layout: str, draw: Draw
) -> None:
    x_memory, grad_memory = (
        draw(LAYOUT_VALUES, seed=10),
        draw(LAYOUT_VALUES, seed=11),
    )
    x_before, grad_before = x_memory.clone(), grad_memory.clone()
    x = LAYOUTS[layout](x_memory)
    grad_output = LAYOUTS[layout](grad_memory)
    op.forward(x)
    op.backward(grad_output, x)
    assert torch.equal(x_memory, x_before)
    assert torch.equal(grad_memory, grad_before)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_memory_format_is_pytorchs(
    op: OpCase, layout: str, draw: Draw
) -> None:
    x = LAYOUTS[layout](draw(LAYOUT_VALUES, seed=23))
    assert op.forward(x).stride() == op.reference(x).stride()


@pytest.mark.parametrize("grad_layout", LAYOUTS)
@pytest.mark.parametrize("x_layout", LAYOUTS)
def test_the_gradients_memory_format_is_pytorchs(
    op: OpCase, x_layout: str, grad_layout: str, draw: Draw
) -> None:
    """Of a product: F.gelu's own backward refuses some of these layouts."""
    x = LAYOUTS[x_layout](draw(LAYOUT_VALUES, seed=23))
    grad_output = LAYOUTS[grad_layout](draw(LAYOUT_VALUES, seed=24))
    expected = (grad_output * x).stride()
    assert op.backward(grad_output, x).stride() == expected


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (torch.ones(2, dtype=torch.int64), TypeError, "got torch.int64"),
        (torch.ones(2, dtype=torch.bool), TypeError, "got torch.bool"),
        (torch.ones(2, dtype=torch.cfloat), TypeError, "got torch.complex64"),
        ([1.0, 2.0], TypeError, "needs a tensor, got list"),
        (1.0, TypeError, "needs a tensor, got float"),
        (torch.ones(2).to_sparse(), TypeError, "got torch.sparse_coo"),
        (torch.ones(2, 2).to_sparse_csr(), TypeError, "got torch.sparse_csr"),
        (
            torch.nested.nested_tensor([torch.ones(2)], layout=torch.jagged),
            TypeError,
            "got torch.jagged, nested",
        ),
        (
            torch.nested.nested_tensor([torch.ones(2)]),
            TypeError,
            "got torch.strided, nested",
        ),
        (torch.ones(2).to(torch.float8_e4m3fn), TypeError, "float8_e4m3fn"),
        (None, TypeError, "needs a tensor, got NoneType"),
    ],
    ids=repr,
)
def test_refuses(
    op: OpCase, value: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        op.apply(value)
    assert op.name + "()" in str(caught.value)


@pytest.mark.parametrize(
    ("grad_output", "message"),
    [
        (torch.ones(3), r"one shape, got \(3,\) and \(2,\)"),
        (torch.ones(1, 2), r"one shape, got \(1, 2\) and \(2,\)"),
        (torch.ones(1), r"one shape, got \(1,\) and \(2,\)"),
        (torch.ones(2).double(), "one dtype, got torch.float64 and torch"),
        (torch.ones(2, device="meta"), "one device, got meta and"),
    ],
)
def test_refuses_a_gradient_unlike_x(
    op: OpCase, grad_output: Tensor, message: str
) -> None:
    if grad_output.device.type != "meta":
        grad_output = grad_output.to(DEVICE)
    with pytest.raises(ValueError, match=message):
        op.backward(grad_output, torch.ones(2, device=DEVICE))


@pytest.mark.parametrize("block", [0, -64, 1000])
def test_refuses_a_block_no_gpu_could_run(op: OpCase, block: int) -> None:
    with pytest.raises(ValueError, match=f"power of two, got {block}"):
        op.forward(torch.ones(2, device=DEVICE), BLOCK=block)
