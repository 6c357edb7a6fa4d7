"""How exact the ops are: one table, which the tests hold them to."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

HALVES = (torch.float16, torch.bfloat16)
SINGLE = (torch.float32,)
DOUBLE = (torch.float64,)
EVERY_DTYPE = (*HALVES, *SINGLE, *DOUBLE)
INF = math.inf


@dataclass(frozen=True)
class Promise:
    """The largest error of one op, in one direction, over one interval.

    The error is that of the op's own arithmetic and of its store: it is
    measured against the exact result for the values that the op was given.

    Attributes:
        op: The op's name.
        direction: "forward", or "backward" for the gradient.
        dtypes: What it holds for.
        region: The interval's name.
        low: Where the interval of x begins, inclusive.
        high: Where it ends, exclusive.
        ulp: Units in the last place of the exact result, see `ulp`.
        reason: Why it is not less.
        absolute: What may come on top, whatever the size of the result. In
            the backward direction both hold for |grad_output| <= 1.
    """

    op: str
    direction: str
    dtypes: tuple[torch.dtype, ...]
    region: str
    low: float
    high: float
    ulp: float
    reason: str
    absolute: float = 0.0


STORED = "computed in float32, and rounded once when it is stored"
TAIL = "exp(-x²/2), a fitted ratio and their products: about a unit each"
SUBNORMAL = "Φ and φ are subnormal, with few digits, and are multiplied by x"
NEARER = "Φ is made of the nearer tail, which costs as much as in the tail"
RIGHT = "Φ is nearly 1"
ZERO = "Φ and xφ cancel around the slope's zero at x = -0.7518"
EXACT = "one product, correctly rounded"
DOUBLED = "one product; where it is subnormal, doubling doubles its half unit"

# fmt: off
PROMISES = (
    Promise("gelu", "forward", HALVES, "everywhere",
            -INF, INF, 0.51, STORED),
    Promise("gelu", "forward", SINGLE, "subnormal results",
            -INF, -12.9, 16, SUBNORMAL),
    Promise("gelu", "forward", SINGLE, "left tail", -12.9, -1, 8, TAIL),
    Promise("gelu", "forward", SINGLE, "middle", -1, 1, 8, NEARER),
    Promise("gelu", "forward", SINGLE, "right", 1, INF, 3, RIGHT),
    Promise("gelu", "forward", DOUBLE, "subnormal results",
            -INF, -37.4, 64, SUBNORMAL),
    Promise("gelu", "forward", DOUBLE, "left tail", -37.4, -1, 8, TAIL),
    Promise("gelu", "forward", DOUBLE, "middle", -1, 1, 8, NEARER),
    Promise("gelu", "forward", DOUBLE, "right", 1, INF, 3, RIGHT),

    Promise("gelu", "backward", HALVES, "left tail",
            -INF, -1.25, 0.51, STORED),
    Promise("gelu", "backward", HALVES, "around the slope's zero",
            -1.25, 0, 0.51, ZERO, absolute=2**-22),
    Promise("gelu", "backward", HALVES, "middle and right",
            0, INF, 0.51, STORED),
    Promise("gelu", "backward", SINGLE, "subnormal results",
            -INF, -12.9, 16, SUBNORMAL),
    Promise("gelu", "backward", SINGLE, "left tail",
            -12.9, -1.25, 10, TAIL),
    Promise("gelu", "backward", SINGLE, "around the slope's zero",
            -1.25, 0, 2, ZERO, absolute=2**-22),
    Promise("gelu", "backward", SINGLE, "middle", 0, 1, 10, NEARER),
    Promise("gelu", "backward", SINGLE, "right", 1, INF, 3, RIGHT),
    Promise("gelu", "backward", DOUBLE, "subnormal results",
            -INF, -37.4, 64, SUBNORMAL),
    Promise("gelu", "backward", DOUBLE, "left tail",
            -37.4, -1.25, 8, TAIL),
    Promise("gelu", "backward", DOUBLE, "around the slope's zero",
            -1.25, 0, 2, ZERO, absolute=2**-51),
    Promise("gelu", "backward", DOUBLE, "middle", 0, 1, 8, NEARER),
    Promise("gelu", "backward", DOUBLE, "right", 1, INF, 3, RIGHT),

    Promise("square", "forward", EVERY_DTYPE, "everywhere",
            -INF, INF, 0.5, EXACT),
    Promise("square", "backward", HALVES, "everywhere",
            -INF, INF, 0.51, STORED),
    Promise("square", "backward", (*SINGLE, *DOUBLE), "everywhere",
            -INF, INF, 1, DOUBLED),
)
# fmt: on


def ulp(truth: Tensor, dtype: torch.dtype) -> Tensor:
    """The unit in the last place of a dtype at the size of truth, in float64.

    It is the distance between the dtype's numbers there; below the smallest
    normal number, that between its subnormal ones.
    """
    info = torch.finfo(dtype)
    digits = 1 - round(math.log2(info.eps))
    lowest = round(math.log2(info.tiny)) + 1 - digits
    size, exponent = torch.frexp(truth.double())
    exponent = torch.where(size == 0.0, lowest, exponent - digits)
    return torch.exp2(exponent.clamp(min=lowest).double())


def ulp_error(actual: Tensor, truth: Tensor, dtype: torch.dtype) -> Tensor:
    """How far actual is from the float64 truth, in units of a dtype.

    Args:
        actual: Finite values, of any floating dtype.
        truth: The exact values, in float64. For float64 results it is itself
            rounded, which adds at most half a unit to the error.
        dtype: Whose units.

    Returns:
        |actual - truth| / `ulp(truth, dtype)`, in float64.
    """
    return (actual.double() - truth).abs() / ulp(truth, dtype)


def share_of_promise(
    promise: Promise, actual: Tensor, truth: Tensor
) -> Tensor:
    """The error of each value over the promised one: kept where at most 1.

    Args:
        promise: A row of `PROMISES`, of actual's dtype.
        actual: The op's finite results for x in the row's interval, the
            backward's for |grad_output| <= 1.
        truth: The exact results, in float64.
    """
    error = (actual.double() - truth).abs() - promise.absolute
    return error.clamp(min=0.0) / ulp(truth, actual.dtype) / promise.ulp
