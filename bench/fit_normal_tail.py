"""Fit the coefficients of triton_grad.normal.

The tail is Φ(-t) = exp(-t²/2) R(t). R is smooth and falls like 1/t, so R / k
is nearly flat in k = 1 / (1 + t/4), the variable of Abramowitz and Stegun's
7.1.26, and a short polynomial in k is near it. It is fitted from t = 1, where
the tail starts, to where exp(-t²/2) is 0 in the dtype.

Prints the coefficients and the largest relative error between.
"""

from typing import Any

import mpmath

# dtype: (number of coefficients, the end of the fit)
FITS = {"FLOAT32": (8, 15), "FLOAT64": (20, 39)}


def ratio_over_k(k: Any) -> Any:
    """R(t) / k, where t is the point whose variable is k."""
    t = 4 * (1 / k - 1)
    return mpmath.ncdf(-t) * mpmath.exp(t * t / 2) / k


def fit(terms: int, end: int) -> tuple[list[float], float]:
    """Coefficients, highest power first, and the largest relative error."""
    with mpmath.workdps(50):
        low, high = (1 / (1 + mpmath.mpf(t) / 4) for t in (end, 1))
        exact = mpmath.chebyfit(ratio_over_k, [low, high], terms)
        grid = mpmath.linspace(low, high, 1000)
        errors = [
            abs(mpmath.polyval(exact, k) / ratio_over_k(k) - 1) for k in grid
        ]
    return [float(it) for it in exact], float(max(errors))


if __name__ == "__main__":
    for name, (terms, end) in FITS.items():
        coefficients, error = fit(terms, end)
        print(f"TAIL_{name}, largest relative error {error:.1e}:")
        for coefficient in coefficients:
            print(f"    {coefficient!r},")
