"""Fit the coefficients of triton_grad.normal.

The tail is Φ(-t) = exp(-t²/2) R(t). R is smooth and falls like 1/t, so R / k
is nearly flat in k = 1 / (1 + t/4), the variable of Abramowitz and Stegun's
7.1.26. It is fitted as a polynomial in 2k - 1, which runs from -1 to 1: that
keeps the coefficients small and their sum from cancelling. From t = 0 it goes
to where exp(-t²/2) is 0 in the dtype.

Prints the coefficients and the largest relative error between.
"""

from typing import Any

import mpmath

# dtype: (number of coefficients, the end of the fit)
FITS = {"FLOAT32": (10, 15), "FLOAT64": (23, 39)}


def ratio_over_k(v: Any) -> Any:
    """R(t) / k, where 2k - 1 is v."""
    k = (v + 1) / 2
    t = 4 * (1 / k - 1)
    return mpmath.ncdf(-t) * mpmath.exp(t * t / 2) / k


def fit(terms: int, end: int) -> tuple[list[float], float]:
    """Coefficients, highest power first, and the largest relative error."""
    with mpmath.workdps(50):
        low = 2 / (1 + mpmath.mpf(end) / 4) - 1
        exact = mpmath.chebyfit(ratio_over_k, [low, 1], terms)
        errors = [
            abs(mpmath.polyval(exact, v) / ratio_over_k(v) - 1)
            for v in mpmath.linspace(low, 1, 1000)
        ]
    return [float(it) for it in exact], float(max(errors))


if __name__ == "__main__":
    for name, (terms, end) in FITS.items():
        coefficients, error = fit(terms, end)
        print(f"TAIL_{name}, largest relative error {error:.1e}:")
        for coefficient in coefficients:
            print(f"    {coefficient!r},")
