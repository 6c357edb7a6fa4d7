r"""The normal distribution's tail, to a few units in the last place.

Far from 0 the two plain formulas lose their digits: $1 + \mathrm{erf}$
cancels in the lower tail, and the exponential of a rounded $-x^2/2$ is wrong
by as many units as $x^2/2$ is large.
"""

import triton
import triton.language as tl

# log2(e) / 2 in two parts. The first has 8 bits, so that its product with the
# square of a whole number of sixteenths below 16 is exact in float32.
HALF_LOG2_E = tl.constexpr(0.7213475204444817)
HALF_LOG2_E_HEAD = tl.constexpr(0.72265625)
HALF_LOG2_E_REST = tl.constexpr(-0.0013087295555182963)

# The last digit of so large a number is a sixteenth, or 1: adding it rounds
# to that, and subtracting it again leaves what was rounded.
ROUNDER_FLOAT32 = tl.constexpr(1.5 * 2.0**19)
ROUNDER_FLOAT64 = tl.constexpr(1.5 * 2.0**48)
WHOLE_ROUNDER = tl.constexpr(1.5 * 2.0**23)

# The tail over exp(-t²/2), divided by k = 1 / (1 + t/4), as polynomials in k,
# highest power first: fitted by bench/fit_normal_tail.py.
TAIL_FLOAT32 = tl.constexpr(
    (
        -0.04701543528897098,
        0.11039240809016496,
        -0.02432937016816262,
        0.09404641957008168,
        0.07264577517019197,
        0.09487332372514472,
        0.09961409282400385,
        0.09973999746319556,
    )
)
TAIL_FLOAT64 = tl.constexpr(
    (
        -0.004755814585155446,
        0.0408919430252593,
        -0.15847485346225074,
        0.36334340393677916,
        -0.5460486387204747,
        0.5703942213735004,
        -0.4403937090989531,
        0.2690424932035123,
        -0.12667734561022415,
        0.04242830689902089,
        -0.020898598830628206,
        0.0003789418104526238,
        0.006524064027072701,
        0.02349975068053118,
        0.04323295145571591,
        0.06350456038090464,
        0.08103508178458167,
        0.09350210007449619,
        0.09973557001449311,
        0.09973557010145394,
    )
)


@triton.jit
def polynomial(k, coefficients: tl.constexpr):
    """The polynomial of these coefficients, highest power first, at k."""
    # Two terms at once: a value that starts as a number is only a float32.
    value = coefficients[0] * k + coefficients[1]
    for i in tl.static_range(  # pyright: ignore[reportGeneralTypeIssues]
        2, len(coefficients.value)
    ):
        value = value * k + coefficients[i]
    return value


@triton.jit
def exp2_of_minus(head, small):
    """2**-(head + small) in float32, for sums from -1 to 250."""
    # A GPU's float32 exponential is a fast exp2, good near 0 alone. It gets
    # what is over, where the sum is 2 half + over, and half is whole.
    half = 0.5 * (head + small) + WHOLE_ROUNDER
    over = (head - 2.0 * (half - WHOLE_ROUNDER)) + small
    # 2**-half, made of its bits. Twice: 2**(-2 half) may be subnormal.
    exponent = (127 - half.to(tl.int32, bitcast=True)) << 23
    scale = exponent.to(tl.float32, bitcast=True)
    return tl.exp2(-over) * scale * scale


@triton.jit
def gaussian(x):
    """exp(-x²/2) without the digits that a rounded x² loses."""
    t = tl.abs(x)
    # Cody's split (1969): x² is z² and a rest, where z is |x| in whole
    # sixteenths, so that z² is exact. Far out the result is 0; not by
    # tl.minimum, which would drop a nan.
    if x.dtype == tl.float64:
        t = tl.where(t > 40.0, 40.0, t)
        z = (t + ROUNDER_FLOAT64) - ROUNDER_FLOAT64
        rest = (t - z) * (t + z)
        value = tl.exp(-0.5 * (z * z)) * tl.exp(-0.5 * rest)
    else:
        t = tl.where(t > 16.0, 16.0, t)
        z = (t + ROUNDER_FLOAT32) - ROUNDER_FLOAT32
        rest = (t - z) * (t + z)
        small = z * z * HALF_LOG2_E_REST + rest * HALF_LOG2_E
        value = exp2_of_minus(z * z * HALF_LOG2_E_HEAD, small)
    return value


@triton.jit
def normal_tail(x):
    """Φ(-|x|), the part of a normal distribution beyond |x|, for |x| >= 1."""
    k = 1.0 / (1.0 + 0.25 * tl.abs(x))
    if x.dtype == tl.float64:
        ratio = k * polynomial(k, TAIL_FLOAT64)
    else:
        ratio = k * polynomial(k, TAIL_FLOAT32)
    return ratio * gaussian(x)
