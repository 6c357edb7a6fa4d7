"""gelu(x + bias) and both its gradients, one pass over the matrix each."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.examples.bias_gelu import (
    PARTIAL_SUMS,
    TILE,
    TILE_COLUMNS,
    bias_gelu,
    tile_of,
)
from triton_grad.testing.check import check_op
from triton_grad.testing.report import Verdict

Draw = Callable[..., Tensor]
DTYPES = (torch.float16, torch.bfloat16, torch.float32)
# Around a tile's edges: 1 to 512 columns wide, 2048 elements.
SHAPES = [
    (1, 1),
    (3, 7),
    (4, 512),
    (5, 513),
    (9, 511),
    (33, 64),
    (2, 1500),
    (TILE + 1, 1),
]


def truth(x: Tensor, bias: Tensor) -> Tensor:
    return F.gelu(x + bias)


def gradients(
    op: Callable[[Tensor, Tensor], Tensor],
    x: Tensor,
    bias: Tensor,
    grad_output: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """What the op gives, and its gradients."""
    leaves = [it.detach().requires_grad_() for it in (x, bias)]
    y = op(leaves[0], leaves[1])
    grads = torch.autograd.grad(y, leaves, grad_output)
    return y.detach(), grads[0], grads[1]


def assert_all_right(x: Tensor, bias: Tensor, grad_output: Tensor) -> None:
    """To a unit for the store (the interpreter cuts bfloat16 off), and some
    of float32's, of all that went into a result, for the arithmetic."""
    found = gradients(bias_gelu, x, bias, grad_output)
    true = gradients(truth, x.double(), bias.double(), grad_output.double())
    upstream = grad_output.double().abs()
    sizes = (true[0].abs() + 1.0, upstream, upstream.sum(dim=0))
    eps = torch.finfo(x.dtype).eps
    subnormal = torch.finfo(x.dtype).smallest_normal * eps
    for result, exact, size in zip(found, true, sizes, strict=True):
        assert result.dtype == x.dtype
        allowed = eps * exact.abs() + 1e-6 * size + subnormal
        assert bool(((result.double() - exact).abs() <= allowed).all())


def test_check_op_finds_nothing() -> None:
    report = check_op(bias_gelu, truth, ("rows cols", "cols"), dtypes=DTYPES)
    report.assert_right()
    refused = [
        it.check for it in report.results if it.verdict is Verdict.REFUSES
    ]
    assert refused == ["second order"]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_both_directions(
    draw: Draw, shape: tuple[int, int], dtype: torch.dtype
) -> None:
    x = draw(*shape, seed=1, dtype=dtype)
    bias = draw(shape[1], seed=2, dtype=dtype)
    assert_all_right(x, bias, draw(*shape, seed=3, dtype=dtype))


@pytest.mark.parametrize("shape", [(0, 5), (4, 0), (0, 0)], ids=str)
def test_nothing_at_all(draw: Draw, shape: tuple[int, int]) -> None:
    """No rows: no gradient for the bias, which is 0."""
    y, grad, grad_bias = gradients(
        bias_gelu,
        draw(*shape, seed=1),
        draw(shape[1], seed=2),
        draw(*shape, seed=3),
    )
    assert y.shape == grad.shape == shape
    assert torch.equal(grad_bias, torch.zeros(shape[1], device=DEVICE))


def test_many_rows_for_a_program(
    draw: Draw, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More tiles above one another than partial sums: several a program."""
    monkeypatch.setattr("triton_grad.examples.bias_gelu.PARTIAL_SUMS", 3)
    high, _ = tile_of(300)
    for rows in (3 * high, 3 * high + 1, 7 * high - 1):
        x, grad_output = (draw(rows, 300, seed=seed) for seed in (1, 2))
        assert_all_right(x, draw(300, seed=3), grad_output)


def test_layouts(draw: Draw) -> None:
    """A transposed x, an expanded cotangent, every second of a bias."""
    assert_all_right(
        draw(30, 20, seed=1).t(),
        draw(60, seed=2)[::2],
        draw(1, 1, seed=3).expand(20, 30),
    )


def test_the_bias_gradient_is_the_same_each_time(draw: Draw) -> None:
    x, grad_output = draw(600, 40, seed=1), draw(600, 40, seed=2)
    bias = draw(40, seed=3)
    first = gradients(bias_gelu, x, bias, grad_output)[2]
    for _ in range(3):
        again = gradients(bias_gelu, x, bias, grad_output)[2]
        assert torch.equal(again, first)


def test_the_bias_gradient_is_summed_in_float32() -> None:
    """4096 equal terms: in 16 bits a sum would stand still at 2048."""
    x = torch.full((4096, 1), 20.0, device=DEVICE, dtype=torch.float16)
    bias = torch.zeros(1, device=DEVICE, dtype=torch.float16)
    grad_bias = gradients(bias_gelu, x, bias, torch.ones_like(x))[2]
    assert grad_bias.item() == 4096.0


def test_x_plus_bias_is_not_rounded(draw: Draw) -> None:
    """The result is the truth, rounded; PyTorch's two ops are often not."""
    x, bias = (
        draw(*s, seed=4, dtype=torch.float16) for s in [(9, 400), (400,)]
    )
    nearest = truth(x.double(), bias.double()).half()
    ours = (bias_gelu(x, bias) != nearest).double().mean().item()
    theirs = (truth(x, bias) != nearest).double().mean().item()
    assert ours < 0.001 < 0.1 < theirs


@pytest.mark.parametrize("columns", [1, 2, 3, 500, 512, 513, 4096, 10**6])
def test_a_tile_has_one_size(columns: int) -> None:
    high, wide = tile_of(columns)
    assert high * wide == TILE
    assert wide == TILE_COLUMNS or columns <= wide < 2 * columns
    assert PARTIAL_SUMS > 132, "fewer than a GPU has multiprocessors"


def test_what_does_not_fit_is_refused() -> None:
    x = torch.ones(2, 3, device=DEVICE)
    with pytest.raises(ValueError, match=r"got \(2, 3\) and \(2,\)"):
        bias_gelu(x, x[:, 0])
    with pytest.raises(ValueError, match=r"got \(3,\) and \(3,\)"):
        bias_gelu(x[0], x[0])
    with pytest.raises(
        TypeError, match=r"bias of torch.float32, got torch.f"
    ):
        bias_gelu(x, x[0].half())
    with pytest.raises(TypeError, match=r"got torch.float64"):
        bias_gelu(x.double(), x[0].double())


def test_the_second_derivative_is_refused() -> None:
    x = torch.ones(2, 3, device=DEVICE, requires_grad=True)
    y = bias_gelu(x, torch.ones(3, device=DEVICE))
    with pytest.raises(NotImplementedError, match="differentiable once"):
        torch.autograd.grad(y.sum(), x, create_graph=True)
