"""The ops' numbers, region by region, and where numbers end."""

import math
import warnings
from itertools import pairwise, product

import mpmath
import pytest
import torch
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.ops.gelu import (
    gelu,
    gelu_backward_op,
    gelu_forward_op,
    gelu_second_derivative,
)
from triton_grad.ops.square import square_backward_op, square_forward_op
from triton_grad.oracle import (
    gelu_backward_oracle,
    gelu_oracle,
    normal_pdf_oracle,
)
from triton_grad.testing.cases import OPS
from triton_grad.testing.measure import GRID_BLOCK, result_and_truth
from triton_grad.testing.promises import (
    EVERY_DTYPE,
    PROMISES,
    Promise,
    share_of_promise,
    ulp,
    ulp_error,
)

pytestmark = pytest.mark.gpu
INF, NAN = math.inf, math.nan
ROWS = [
    pytest.param(
        row, dtype, id=f"{row.op} {row.direction} {row.region} {dtype}"
    )
    for row in PROMISES
    for dtype in row.dtypes
]


@pytest.mark.parametrize(("promise", "dtype"), ROWS)
def test_the_promise_is_kept(promise: Promise, dtype: torch.dtype) -> None:
    actual, truth = result_and_truth(promise, dtype)
    # What is too large for the dtype is infinite, by IEEE's own rounding.
    overflows = truth.to(dtype).isinf()
    assert torch.equal(actual[overflows], truth[overflows].to(dtype))
    assert not overflows.all()
    actual, truth = actual[~overflows], truth[~overflows]
    assert share_of_promise(promise, actual, truth).max() <= 1.0


@pytest.mark.parametrize("dtype", EVERY_DTYPE, ids=str)
@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("op", [op.name for op in OPS])
def test_the_promises_leave_nothing_out(
    op: str, direction: str, dtype: torch.dtype
) -> None:
    rows = [
        row
        for row in PROMISES
        if (row.op, row.direction) == (op, direction) and dtype in row.dtypes
    ]
    assert rows[0].low == -INF
    assert rows[-1].high == INF
    for one, other in pairwise(rows):
        assert one.high == other.low
    assert all(row.reason and row.ulp >= 0.5 for row in rows)


def test_units_in_the_last_place() -> None:
    sizes = [m * 2.0**k for k in range(-1074, 1023) for m in (1.0, 1.7)]
    truth = torch.tensor([0.0, *sizes, -3.0], dtype=torch.float64)
    assert ulp(truth, torch.float64).tolist() == [
        math.ulp(it) for it in truth.tolist()
    ]
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        info = torch.finfo(dtype)
        least = info.smallest_normal * info.eps
        truth = torch.tensor([0.0, least, 1.0, -1.99, 2.0]).double()
        steps = [least, least, info.eps, info.eps, 2 * info.eps]
        assert ulp(truth, dtype).tolist() == steps
    truth = torch.tensor([1.0], dtype=torch.float64)
    actual = torch.tensor([1.0 - 3 * 2.0**-23])
    assert ulp_error(actual, truth, torch.float32).item() == 3.0


# ------------------------------------------------------- where numbers end


@pytest.mark.parametrize(
    "promise",
    [
        row
        for row in PROMISES
        if (row.op, row.direction) == ("gelu", "backward")
        and row.dtypes == (torch.float32,)
        and row.region != "subnormal results"
    ],
    ids=lambda row: row.region,
)
@pytest.mark.parametrize("below", [0.02, 0.577])
def test_the_promise_is_kept_where_units_are_smallest(
    promise: Promise, below: float
) -> None:
    """Results just below a power of two, which no random cotangent hits.

    More than 8 units, of 10 promised, are found between 0 and 1.
    """
    low, high = promise.low, min(promise.high, 9.0)
    x = torch.cat(
        [
            torch.linspace(low, low + 0.2, 100_001),
            torch.linspace(high - 0.2, high, 100_001)[:-1],
        ]
    )
    slope = gelu_backward_oracle(torch.ones_like(x), x)
    power = torch.exp2(torch.floor(torch.log2(slope.abs())))
    grad_output = (power / slope * (1 - below * 2**-6)).float()
    x, grad_output = (it[grad_output.isfinite()] for it in (x, grad_output))
    assert grad_output.abs().max() <= 1
    moved = grad_output.to(DEVICE), x.to(DEVICE)
    actual = gelu_backward_op(*moved, BLOCK=GRID_BLOCK).cpu()
    truth = gelu_backward_oracle(grad_output, x)
    assert share_of_promise(promise, actual, truth).max() <= 1


def at(values: list[float], dtype: torch.dtype) -> Tensor:
    return torch.tensor(values, dtype=dtype, device=DEVICE)


def same(actual: Tensor, expected: list[float]) -> bool:
    """Equal, the sign of 0 too, and nan where nan is expected."""
    wanted = torch.tensor(expected, dtype=actual.dtype)
    actual = actual.cpu()
    numbers = ~wanted.isnan()
    return torch.equal(actual.isnan(), wanted.isnan()) and all(
        torch.equal(of(actual[numbers]), of(wanted[numbers]))
        for of in (torch.clone, torch.signbit)
    )


# Four and more elements: PyTorch's CPU kernels take another path for them.
PLACES = [-INF, INF, NAN, -0.0, 0.0, -1e4, 1e4, 1.0]


@pytest.mark.parametrize("dtype", EVERY_DTYPE, ids=str)
def test_gelu_where_numbers_end(dtype: torch.dtype) -> None:
    """pytorch#185770: on the CPU F.gelu is nan at -inf, and at inf too.

    (At inf: in tensors of four elements or more; of one element it is inf.
    Its gradient is nan at both.) The limits are 0, inf, and slopes 0 and 1.
    """
    x = at(PLACES, dtype)
    largest = x[6].item()
    y = gelu_forward_op(x[:-1])
    assert same(y, [-0.0, INF, NAN, -0.0, 0.0, -0.0, largest])
    slope = gelu_backward_op(torch.ones_like(x), x)[:-1]
    assert same(slope.abs(), [0.0, 1.0, NAN, 0.5, 0.5, 0.0, 1.0])
    assert same(gelu_forward_op(x[:1]), [-0.0])


@pytest.mark.parametrize("dtype", EVERY_DTYPE, ids=str)
def test_gelu_at_the_largest_and_smallest(dtype: torch.dtype) -> None:
    """F.gelu in fp32 on the CPU is inf at 3e38 (of four elements or more)."""
    info = torch.finfo(dtype)
    least = info.smallest_normal * info.eps
    x = at([info.max, info.min, 4 * least, -4 * least, 0.0], dtype)
    y = gelu_forward_op(x)
    assert same(y, [info.max, -0.0, 2 * least, -2 * least, 0.0])
    slope = gelu_backward_op(torch.ones_like(x), x)
    assert same(slope.abs(), [1.0, 0.0, 0.5, 0.5, 0.5])


@pytest.mark.parametrize("dtype", EVERY_DTYPE, ids=str)
def test_square_where_numbers_end(dtype: torch.dtype) -> None:
    info = torch.finfo(dtype)
    places = [-INF, INF, NAN, -0.0, 0.0, info.smallest_normal, info.max]
    x = at(places, dtype)
    y = square_forward_op(x)
    slope = square_backward_op(torch.ones_like(x), x)
    assert same(y, [INF, INF, NAN, 0.0, 0.0, 0.0, INF])
    twice = [-INF, INF, NAN, -0.0, 0.0, 2 * info.smallest_normal, INF]
    assert same(slope, twice)


def test_the_tail_is_right_relatively() -> None:
    """pytorch#187806: at -5.5 F.gelu in fp32 is -1.64e-07, 57 % off.

    From about -6 on it is -0.0; the truth is subnormal at -13 only.
    """
    x = torch.tensor([-5.5, -6.5, -9.0, -12.0])
    y = gelu_forward_op(x.to(DEVICE)).cpu()
    assert ulp_error(y, gelu_oracle(x), torch.float32).max() < 8
    assert y[0].item() == pytest.approx(-1.0444e-07, rel=1e-4)


@pytest.mark.skipif(DEVICE != "cpu", reason="numpy warns, a GPU does not")
def test_no_warning_from_the_interpreter() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for op, dtype in product(OPS, EVERY_DTYPE):
            x = at([*PLACES, torch.finfo(dtype).max], dtype)
            op.forward(x)
            op.backward(torch.ones_like(x), x)


# --------------------------------------------------- the second derivative


@pytest.mark.parametrize(
    ("dtype", "lowest", "units"),
    [(torch.float32, -12.9, 12), (torch.float64, -37.4, 12)],
)
def test_the_second_derivative_in_the_tails(
    dtype: torch.dtype, lowest: float, units: int
) -> None:
    """Relatively, beyond its zeros at ±√2; exp of a rounded x² is not."""
    x = torch.linspace(lowest, -1.6, 401, dtype=torch.float64).to(dtype)
    with mpmath.workdps(40):
        values = [
            float((2 - mpmath.mpf(it) ** 2) * mpmath.npdf(it))
            for it in x.tolist()
        ]
    truth = torch.tensor(values, dtype=torch.float64)
    for points in (x, -x):
        actual = gelu_second_derivative(points.to(DEVICE)).cpu()
        assert ulp_error(actual, truth, dtype).max() < units


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_the_second_derivative_between(dtype: torch.dtype) -> None:
    x = torch.linspace(-1.6, 1.6, 1001, dtype=torch.float64).to(dtype)
    wide = x.double()
    truth = (2.0 - wide**2) * normal_pdf_oracle(x)
    actual = gelu_second_derivative(x.to(DEVICE)).cpu()
    bound = 4 * torch.finfo(dtype).eps
    assert (actual.double() - truth).abs().max() < bound


@pytest.mark.parametrize("dtype", EVERY_DTYPE, ids=str)
def test_higher_derivatives_where_numbers_end(dtype: torch.dtype) -> None:
    x = at(PLACES, dtype).requires_grad_()
    (first,) = torch.autograd.grad(gelu(x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
    (third,) = torch.autograd.grad(second.sum(), x)
    peak = 2 / math.sqrt(2 * math.pi)
    assert second.abs().tolist() == pytest.approx(
        [0.0, 0.0, NAN, peak, peak, 0.0, 0.0, 0.24197],
        rel=torch.finfo(dtype).eps + 1e-4,
        nan_ok=True,
    )
    assert same(third[:7].abs(), [0.0, 0.0, NAN, 0.0, 0.0, 0.0, 0.0])


def test_the_third_derivative_in_the_tail() -> None:
    """Through the split of x²: (x³ - 4x) φ(x)."""
    x = torch.linspace(-30.0, -2.5, 201, dtype=torch.float64)
    x = x.to(DEVICE).requires_grad_()
    (third,) = torch.autograd.grad(gelu_second_derivative(x).sum(), x)
    with mpmath.workdps(40):
        values = [
            float((mpmath.mpf(it) ** 3 - 4 * it) * mpmath.npdf(it))
            for it in x.tolist()
        ]
    truth = torch.tensor(values, dtype=torch.float64)
    assert ulp_error(third.cpu(), truth, torch.float64).max() < 40
