"""How near to the exact GELU, and to its slope, each way to compute it comes.

    python bench/accuracy.py [--commit NAME]

float32: a dense grid of x from -13 to 13 and a logarithmic one around 0.
float16 and bfloat16: every finite number. The truth is computed in float64,
as x erfc(-x/√2) / 2, in which nothing cancels; the exact value of 2000 of
its points is computed with 40 digits beside it, and what it is off there is
written down. grad_output is 1, so that a gradient is the slope.

On a GPU it takes seconds. On the interpreter the float32 grid is thinned out.
Writes $OUT/accuracy.json, or else bench/accuracy.GPU.json; prints a table.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
import torch
import torch.nn.functional as F
from torch import Tensor

from provenance import provenance, report_path
from triton_grad.device import DEVICE
from triton_grad.ops.gelu import gelu_backward_op, gelu_forward_op
from triton_grad.ops.gelu_erf import (
    triton_gelu_backward,
    triton_gelu_forward,
)
from triton_grad.testing.promises import ulp, ulp_error

EDGE = 13.0
POINTS = 2**22 if DEVICE == "cuda" else 2**13
BINS = 400
SAMPLE = 2000
HALVES = {"fp16": torch.float16, "bf16": torch.bfloat16}
# The slope is 0 at -0.7518: no result is near it by its own measure.
ZERO = (-1.25, 0.0)
TAIL = -1.0
LEAST = 1 / 64


def forward_truth(x: Tensor) -> Tensor:
    """x Φ(x), of float64 x."""
    return x * cdf(x)


def cdf(x: Tensor) -> Tensor:
    return 0.5 * torch.special.erfc(-x * math.sqrt(0.5))


def slope_terms(x: Tensor) -> tuple[Tensor, Tensor]:
    """Φ(x) and x φ(x), of float64 x, whose float32 square is exact in it."""
    pdf = torch.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
    return cdf(x), x * pdf


def backward_truth(x: Tensor) -> Tensor:
    first, second = slope_terms(x)
    return first + second


def forward_size(x: Tensor) -> Tensor:
    return forward_truth(x).abs()


def backward_size(x: Tensor) -> Tensor:
    first, second = slope_terms(x)
    return first.abs() + second.abs()


def exact_forward(x: Any) -> Any:
    return x * mpmath.ncdf(x)


def exact_backward(x: Any) -> Any:
    return mpmath.ncdf(x) + x * mpmath.npdf(x)


def of_ones(op: Callable[[Tensor, Tensor], Tensor]):
    return lambda x: op(torch.ones_like(x), x)


@dataclass(frozen=True)
class Direction:
    """A function, its truth, and the ways to compute it.

    Attributes:
        truth: It, of float64.
        size: What an error is compared with: the sum of the magnitudes of
            the terms.
        exact: It, of a number of mpmath.
        ways: Who computes it, by name.
    """

    truth: Callable[[Tensor], Tensor]
    size: Callable[[Tensor], Tensor]
    exact: Callable[[Any], Any]
    ways: dict[str, Callable[[Tensor], Tensor]]


DIRECTIONS = {
    "forward": Direction(
        forward_truth,
        forward_size,
        exact_forward,
        {
            "library": gelu_forward_op,
            "pytorch": F.gelu,
            "teaching": triton_gelu_forward,
        },
    ),
    "backward": Direction(
        backward_truth,
        backward_size,
        exact_backward,
        {
            "library": of_ones(gelu_backward_op),
            "pytorch": of_ones(torch.ops.aten.gelu_backward),
            "teaching": of_ones(triton_gelu_backward),
        },
    ),
}


# ------------------------------------------------------------------ the truth


def truth_error(direction: Direction, xs: Tensor) -> float:
    """How far the float64 truth is off, over the size of its terms."""
    truths = direction.truth(xs).tolist()
    sizes = direction.size(xs).tolist()
    with mpmath.workdps(40):
        errors = [
            abs(direction.exact(mpmath.mpf(x)) - truth) / size
            for x, truth, size in zip(xs.tolist(), truths, sizes, strict=True)
        ]
        return float(max(errors))


def grid(points: int) -> Tensor:
    """float32 numbers: even from -13 to 13, and by powers of 2 around 0."""
    even = torch.linspace(-EDGE, EDGE, points, dtype=torch.float64)
    powers = torch.linspace(-126.0, 3.0, points // 8, dtype=torch.float64)
    small = torch.exp2(powers)
    xs = torch.cat([even, small, -small]).float()
    return xs[xs != 0.0].to(DEVICE)


def numbers(dtype: torch.dtype) -> Tensor:
    """Every finite number of a 16-bit dtype."""
    bits = torch.arange(-(2**15), 2**15, dtype=torch.int32)
    every = bits.to(torch.int16).view(dtype)
    return every[every.isfinite()].to(DEVICE)


def nearest(truth: Tensor, dtype: torch.dtype) -> Tensor:
    """The truth rounded once to a dtype, still as float64.

    Tensor.to rounds twice: to float32 on the way.
    """
    unit = ulp(truth, dtype)
    value = torch.round(truth / unit) * unit
    largest = torch.finfo(dtype).max
    return torch.where(value.abs() > largest, value.sign() * math.inf, value)


# ----------------------------------------------------------------- the errors


def errors_in_float32(
    direction: Direction, x: Tensor
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Figures by way, and the largest error by way for each bin of x."""
    exact_x = x.double()
    truth, size = direction.truth(exact_x), direction.size(exact_x)
    normal = truth.abs() >= torch.finfo(torch.float32).tiny
    judged = truth != 0.0
    if direction.exact is exact_backward:
        judged &= (x < ZERO[0]) | (x > ZERO[1])
    figures: dict[str, Any] = {}
    curves: dict[str, Any] = {"x": bin_middles()}
    for way, compute in direction.ways.items():
        result = compute(x).double()
        error = (result - truth).abs()
        relative = error / truth.abs()
        units = ulp_error(result, truth, torch.float32)
        figures[way] = {
            "relative error": largest(relative, x, judged & normal),
            "of the terms": largest(error / size, x, normal),
            "units": largest(units, x, judged & normal),
            "units where subnormal": largest(units, x, judged & ~normal),
        }
        curves[way] = by_bin(error / size, x, normal)
    return figures, curves


def largest(values: Tensor, x: Tensor, where: Tensor) -> dict[str, str]:
    """The largest of the values that count, and its x."""
    if not where.any():
        return {"value": "none", "x": "none"}
    at = torch.where(where, values, -1.0).argmax()
    return {"value": f"{values[at].item():.2g}", "x": f"{x[at].item():.4g}"}


def bin_middles() -> list[float]:
    width = 2 * EDGE / BINS
    return [round(-EDGE + (i + 0.5) * width, 4) for i in range(BINS)]


def by_bin(values: Tensor, x: Tensor, where: Tensor) -> list[float | None]:
    """The largest of the values that count, in each part of the x axis."""
    places = ((x.double() + EDGE) * (BINS / (2 * EDGE))).long()
    places = places.clamp(0, BINS - 1)
    found = torch.full((BINS,), -1.0, dtype=torch.float64, device=x.device)
    found.scatter_reduce_(0, places[where], values[where], "amax")
    return [
        None if value < 0.0 else float(f"{value:.3g}")
        for value in found.tolist()
    ]


def rounded_rightly(
    direction: Direction, dtype: torch.dtype
) -> dict[str, dict[str, str]]:
    """By way: which part of the results is the truth's rounding.

    Only where that is neither zero nor infinite.
    """
    x = numbers(dtype)
    truth = nearest(direction.truth(x.double()), dtype)
    told = (truth != 0.0) & truth.isfinite()
    regions = {
        "everywhere": told,
        "within": told & (x.abs() >= LEAST) & (x.abs() <= EDGE),
        "tail": told & (x <= TAIL),
    }
    shares: dict[str, dict[str, str]] = {}
    for way, compute in direction.ways.items():
        right = compute(x).double() == truth
        shares[way] = {}
        for name, region in regions.items():
            count, of = (right & region).sum().item(), region.sum().item()
            shares[way][name] = percent(int(count), int(of))
            shares[way][f"{name}, wrong"] = f"{of - count} of {of}"
    return shares


def percent(count: int, of: int) -> str:
    """Rounded down: what is not all is not told as 100 %."""
    return f"{math.floor(1e4 * count / of) / 1e2:.2f} %"


# -------------------------------------------------------------- the whole run


def report(points: int) -> dict[str, Any]:
    """All figures and curves."""
    begin = time.perf_counter()
    result: dict[str, Any] = {"truth": {}, "figures": {}, "curves": {}}
    sample = torch.linspace(-EDGE, EDGE, SAMPLE, dtype=torch.float64)
    sample = sample.float().double().to(DEVICE)
    x = grid(points)
    result["points"] = x.numel()
    for name, direction in DIRECTIONS.items():
        error = truth_error(direction, sample)
        result["truth"][name] = f"{error:.1e}"
        figures, curves = errors_in_float32(direction, x)
        result["figures"].setdefault("fp32", {})[name] = figures
        result["curves"][name] = curves
        for dtype, it in HALVES.items():
            shares = rounded_rightly(direction, it)
            result["figures"].setdefault(dtype, {})[name] = shares
        print(f"{time.perf_counter() - begin:6.1f} s {name}", flush=True)
    return result


def table(figures: dict[str, Any]) -> None:
    for name, ways in figures["fp32"].items():
        for way, it in ways.items():
            told = [
                f"{key} {it[key]['value']} at {it[key]['x']}" for key in it
            ]
            print(f"fp32 {name:9} {way:9} {'; '.join(told)}")
    for dtype in HALVES:
        for name, ways in figures[dtype].items():
            for way, shares in ways.items():
                told = [f"{key}: {value}" for key, value in shares.items()]
                print(f"{dtype} {name:9} {way:9} {'; '.join(told)}")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--commit", help="the commit to name (default: git's HEAD)"
    )
    arguments = parser.parse_args()
    facts = provenance("accuracy.py", arguments.commit)
    found = {"provenance": facts} | report(POINTS)
    report_path("accuracy").write_text(json.dumps(found, indent=1) + "\n")
    print(facts, f"truth off by {found['truth']}", sep="\n")
    table(found["figures"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
