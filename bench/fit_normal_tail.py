"""Fit the coefficients of triton_grad.normal.

The tail is Φ(-t) = exp(-t²/2) R(t). R is smooth and falls like 1/t, so R / k
is nearly flat in k = 1 / (1 + pt), the variable of Abramowitz and Stegun's
7.1.26, and fitted as a polynomial in k. From t = 0 it goes to where
exp(-t²/2) is 0 in the dtype. Each p was chosen among a few for the smallest
error after rounding.

Where 16 bits are enough there is a shorter fit.

Prints the coefficients and the largest relative error between, and writes the
error's curve to bench/fit_normal_tail.json.
"""

import json
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import mpmath
import numpy as np


@dataclass(frozen=True)
class Form:
    """What of R(t) is fitted as a polynomial, and in which k.

    Attributes:
        slope: The p in k.
        exponent: R is fitted times 2**exponent.
        half_at_zero: Whether float32 shall make exactly 1/2 of R(0).
    """

    slope: float
    exponent: int = 0
    half_at_zero: bool = False

    def variable(self, t: Any) -> Any:
        return 1 / (1 + self.slope * mpmath.mpf(t))

    def fitted(self, k: Any) -> Any:
        """R / k, scaled."""
        t = (1 / k - 1) / self.slope
        ratio = mpmath.ncdf(-t) * mpmath.exp(t * t / 2) / k
        return mpmath.ldexp(ratio, self.exponent)


# name: (number of coefficients, the end of the fit, its form)
FITS = {
    "FLOAT32": (9, 15, Form(slope=0.35)),
    "FLOAT64": (23, 39, Form(slope=0.25)),
    "ROUGH": (8, 13.6, Form(slope=0.3, exponent=-24, half_at_zero=True)),
}


def halved_at_zero(coefficients: list[float], half: float) -> list[float]:
    """With another constant, so that their float32 sum is a given half.

    At t = 0 the variable is 1: the polynomial is the sum, from the highest
    power on.
    """
    total = np.float32(coefficients[0])
    for coefficient in coefficients[1:-1]:
        total = total + np.float32(coefficient)
    return [*coefficients[:-1], float(np.float32(half) - total)]


def fit(terms: int, end: float, form: Form) -> tuple[list[float], float]:
    """Coefficients, highest power first, and the largest relative error."""
    with mpmath.workdps(50):
        low = form.variable(end)
        exact = mpmath.chebyfit(form.fitted, [low, 1], terms)
        coefficients = [float(it) for it in exact]
        if form.half_at_zero:
            half = 2.0 ** (form.exponent - 1)
            exact = coefficients = halved_at_zero(coefficients, half)
        places = mpmath.linspace(low, 1, 1000)
        errors = [abs(error_at(exact, form, v)) for v in places]
    return coefficients, float(max(errors))


def error_at(coefficients: list[Any], form: Form, v: Any) -> Any:
    return mpmath.polyval(coefficients, v) / form.fitted(v) - 1


def curve(coefficients: list[float], end: float, form: Form) -> list[Any]:
    """Pairs of t and the relative error of these float64 coefficients."""
    with mpmath.workdps(50):
        return [
            (
                round(float(t), 3),
                float(f"{float(error_at(coefficients, form, v)):.3g}"),
            )
            for t in mpmath.linspace(0, end, 240)
            for v in [form.variable(t)]
        ]


def main() -> None:
    facts = {
        "command": "python bench/fit_normal_tail.py",
        "mpmath": version("mpmath"),
    }
    fits: dict[str, Any] = {}
    for name, (terms, end, form) in FITS.items():
        coefficients, error = fit(terms, end, form)
        print(f"TAIL_{name}, largest relative error {error:.1e}:")
        for coefficient in coefficients:
            print(f"    {coefficient!r},")
        fits[name] = {
            "terms": terms,
            "end": end,
            "error": f"{error:.1e}",
            "curve": curve(coefficients, end, form),
        }
    report = json.dumps({"provenance": facts, "fits": fits})
    # One point a line would be seven hundred lines.
    path = Path(__file__).with_suffix(".json")
    path.write_text(report.replace('"curve"', '\n"curve"') + "\n")


if __name__ == "__main__":
    main()
