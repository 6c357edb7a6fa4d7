"""How far the ops are from the truth, over a dense grid of a promise's x."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import mpmath  # comes with torch, whose sympy is made of it
import torch
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.testing.cases import OPS
from triton_grad.testing.promises import (
    PROMISES,
    Promise,
    share_of_promise,
    ulp,
    ulp_error,
)


def exact_gelu(x: float) -> float:
    if abs(x) > 1e4:  # Φ is 0 or 1, and mpmath fails far out
        return max(x, 0.0)
    return float(x * mpmath.ncdf(x))


def exact_gelu_backward(grad_output: float, x: float) -> float:
    if abs(x) > 1e4:
        return grad_output * float(x > 0.0)
    return float(grad_output * (mpmath.ncdf(x) + x * mpmath.npdf(x)))


def exact_square(x: float) -> float:
    return rounded(Fraction(x) ** 2)


def exact_square_backward(grad_output: float, x: float) -> float:
    return rounded(Fraction(grad_output) * 2 * Fraction(x))


def rounded(value: Fraction) -> float:
    """To nearest, but infinite where that is too large for a float."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


# The interpreter takes its time for every program, and a GPU's compiler for
# every element of one.
GRID_BLOCK = 8192 if DEVICE == "cpu" else 1024

# What the oracles compute in float64, with more digits than that.
EXACT_RESULT: dict[tuple[str, str], Callable[..., float]] = {
    ("gelu", "forward"): exact_gelu,
    ("gelu", "backward"): exact_gelu_backward,
    ("square", "forward"): exact_square,
    ("square", "backward"): exact_square_backward,
}


def values_in(promise: Promise, dtype: torch.dtype) -> Tensor:
    """A dense grid of the row's interval; in 16 bits, all that is there."""
    if dtype in (torch.float16, torch.bfloat16):
        bits = torch.arange(-(2**15), 2**15, dtype=torch.int16)
        values = bits.view(dtype)
        values = values[values.isfinite()]
    else:
        info = torch.finfo(dtype)
        dense = 401 if dtype == torch.float64 else 40001
        middle = torch.linspace(
            max(promise.low, -45.0),
            min(promise.high, 45.0),
            dense,
            dtype=torch.float64,
        )
        sizes = (
            1.2345
            * 2.0
            ** torch.arange(
                math.log2(info.smallest_normal) - 20, math.log2(info.max) - 1
            ).double()
        )
        ends = torch.tensor(
            [0.0, -0.0, info.max, info.min], dtype=torch.float64
        )
        values = torch.cat([middle, sizes, -sizes, ends]).to(dtype)
    return values[(values >= promise.low) & (values < promise.high)]


def cotangents(count: int, seed: int, dtype: torch.dtype) -> Tensor:
    """Upstream gradients with random digits, 0.5 <= |grad_output| <= 1."""
    generator = torch.Generator().manual_seed(seed)
    draw = torch.rand(count, generator=generator, dtype=torch.float64)
    return torch.where(draw < 0.5, draw - 1.0, draw).to(dtype)


def result_and_truth(
    promise: Promise, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """What the op gives over the grid, and what it should, in float64."""
    (op,) = (case for case in OPS if case.name == promise.op)
    x = values_in(promise, dtype)
    inputs, launch, oracle = [x], op.forward, op.oracle
    if promise.direction == "backward":
        inputs = [cotangents(x.numel(), 1, dtype), x]
        launch, oracle = op.backward, op.backward_oracle
    moved = [it.to(DEVICE) for it in inputs]
    actual = launch(*moved, BLOCK=GRID_BLOCK).cpu()
    if dtype != torch.float64:
        return actual, oracle(*inputs)
    exact = EXACT_RESULT[promise.op, promise.direction]
    with mpmath.workdps(40):
        rows = zip(*(it.tolist() for it in inputs), strict=True)
        values = [exact(*row) for row in rows]
    return actual, torch.tensor(values, dtype=torch.float64)


@dataclass(frozen=True)
class WorstErrors:
    """The largest errors over a promise's grid, of all its dtypes.

    Attributes:
        ulp: In units in the last place.
        beyond: What is left of them beyond the promised units; to be covered
            by what is promised absolutely.
        share: Over the promised one: at most 1 where the promise is kept.
    """

    ulp: float
    beyond: float
    share: float


def worst_errors(promise: Promise) -> WorstErrors:
    """Run a promise's op over its grid, on this device, and look."""
    ulps, beyond, shares = [], [], []
    for dtype in promise.dtypes:
        actual, truth = result_and_truth(promise, dtype)
        finite = truth.to(dtype).isfinite()
        # What is too large for the dtype must be infinite.
        if not torch.equal(actual[~finite], truth[~finite].to(dtype)):
            shares.append(math.inf)
        actual, truth = actual[finite], truth[finite]
        units = ulp_error(actual, truth, dtype)
        more = (units - promise.ulp).clamp(min=0.0) * ulp(truth, dtype)
        ulps.append(units.max().item())
        beyond.append(more.max().item())
        shares.append(share_of_promise(promise, actual, truth).max().item())
    return WorstErrors(max(ulps), max(beyond), max(shares))


def keeps_promises(
    op: str, direction: str, x: Tensor, actual: Tensor, truth: Tensor
) -> bool:
    """Whether results for any finite x are as exact as the table says.

    Args:
        op: The op's name.
        direction: "forward", or "backward" for |grad_output| <= 1.
        x: What the op was given.
        actual: The op's finite results.
        truth: The exact ones, in float64.
    """
    rows = [
        row
        for row in PROMISES
        if (row.op, row.direction) == (op, direction)
        and x.dtype in row.dtypes
    ]
    return all(
        share_of_promise(row, actual[inside], truth[inside]).le(1.0).all()
        for row in rows
        for inside in [(row.low <= x) & (x < row.high)]
    )
