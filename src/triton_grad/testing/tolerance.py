"""How far from the truth a right op may be.

Rounding its inputs already moves a function by as much as its condition
allows; no kernel can be held to less. So an error is measured in what a
rounding of the inputs costs and a unit in the last place, together: a
backward stable algorithm stays within a few of these everywhere, also where
terms cancel.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from triton_grad.precision import compute_dtype
from triton_grad.testing.promises import ulp

# Of these, the largest difference is the cost of rounding.
PERTURBATIONS = 8
# What a right algorithm may lose, in that cost and in units.
ALLOWED = {
    torch.float16: 1.5,
    torch.bfloat16: 1.5,
    torch.float32: 16.0,
    torch.float64: 64.0,
}
# Where PyTorch's own op, computed in the same dtype, is worse, its error
# times this is allowed.
OF_PYTORCH = 2.0
# Of the size of its inputs; a few roundings in float64.
ORACLE_EPS = 2.0**-50


def rounding_cost(
    compute: Callable[[Sequence[Tensor]], list[Tensor]],
    inputs: Sequence[Tensor],
    truths: Sequence[Tensor],
    eps: float,
) -> list[Tensor]:
    """How far float64 results move when the inputs are rounded to eps.

    Args:
        compute: The function, in float64.
        inputs: What it is called with; integers are left alone.
        truths: What it gives for them.
        eps: The relative size of a rounding.

    Returns:
        For each result the largest of `PERTURBATIONS` differences.
    """
    generator = torch.Generator().manual_seed(0)
    costs = [torch.zeros_like(truth) for truth in truths]
    for _ in range(PERTURBATIONS):
        moved = [perturbed(it, eps, generator) for it in inputs]
        for cost, result, truth in zip(
            costs, compute(moved), truths, strict=True
        ):
            if not truth.is_floating_point():
                continue
            difference = (result - truth).abs().nan_to_num(0.0, 0.0, 0.0)
            torch.maximum(cost, difference, out=cost)
    return costs


def perturbed(
    values: Tensor, eps: float, generator: torch.Generator
) -> Tensor:
    """Each value up or down by half of eps, by lot."""
    if not values.is_floating_point():
        return values
    up = torch.rand(values.shape, generator=generator) < 0.5
    sign = torch.where(up, 1.0, -1.0).double()
    return values * (1.0 + 0.5 * eps * sign)


def doubt_of(inputs: Sequence[Tensor], truth: Tensor) -> Tensor:
    """How far an oracle in float64 may itself be from the truth.

    F.gelu's 1 + erf cancels in float64 as it does in float32, only later.
    """
    size = torch.ones_like(truth, dtype=torch.float64)
    for it in inputs:
        values = it.double().abs().nan_to_num(0.0, 0.0, 0.0)
        if values.numel() > 0:
            size += values if it.shape == truth.shape else values.max()
    return ORACLE_EPS * size


def floor_of(truth: Tensor, eps: float) -> Tensor:
    """What a rounding is of a result of typical size.

    Of results that happen to be small no more digits are expected than of
    the others; where they are small on purpose, that is another check.
    """
    if truth.numel() == 0 or not truth.is_floating_point():
        return torch.zeros_like(truth)
    finite = truth.nan_to_num(0.0, 0.0, 0.0)
    return torch.full_like(truth, eps * finite.square().mean().sqrt().item())


def error_units(
    truth: Tensor, cost: Tensor, dtype: torch.dtype, wide: bool
) -> Tensor:
    """The unit of error: one in the last place, and the cost of rounding.

    Args:
        truth: The exact results, in float64.
        cost: Their `rounding_cost`, and the oracle's `doubt_of`.
        dtype: What the results are stored in.
        wide: Whether a result of 16 bits is held to arithmetic in float32.
    """
    info = torch.finfo(compute_dtype(dtype))
    # Whether subnormal results are flushed to zero is the hardware's affair.
    flushed = info.tiny if dtype != torch.float16 else 0.0
    share = 8.0 if wide and dtype in (torch.float16, torch.bfloat16) else 1.0
    return ulp(truth, dtype) + share * cost + flushed


def worst_error(actual: Tensor, truth: Tensor, units: Tensor) -> Tensor:
    """|actual - truth| in units, elementwise; 0 where both are no number.

    An infinity is right where it is the truth, rounded to the dtype.
    """
    rounded = truth.to(actual.dtype).double()
    actual = actual.double()
    same = (actual == rounded) | (actual.isnan() & truth.isnan())
    error = (actual - truth).abs() / units
    error = torch.where(error.isnan(), torch.inf, error)
    return torch.where(same, 0.0, error)
