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

# Beyond it, Φ(-|x|) and exp(-x²/2) are 0 in the dtype.
FAR_FLOAT32 = tl.constexpr(16.0)
FAR_FLOAT64 = tl.constexpr(40.0)

# The last digit of so large a number is a sixteenth, or 1: adding it rounds
# to that, and subtracting it again leaves what was rounded.
ROUNDER_FLOAT32 = tl.constexpr(1.5 * 2.0**19)
ROUNDER_FLOAT64 = tl.constexpr(1.5 * 2.0**48)
WHOLE_ROUNDER = tl.constexpr(1.5 * 2.0**23)

# The tail over exp(-t²/2), divided by k = 1 / (1 + pt), as polynomials in k,
# highest power first: fitted by bench/fit_normal_tail.py, p and all.
TAIL_FLOAT32 = tl.constexpr(
    (
        -0.029770438996600576,
        0.14695092217492817,
        -0.26171266922639713,
        0.1658018015307221,
        -0.027482889553070378,
        0.10726277300241639,
        0.11941703607345935,
        0.13991480395037198,
        0.13961864287057624,
    )
)
TAIL_FLOAT64 = tl.constexpr(
    (
        -0.0010122350213441524,
        0.011096471880184597,
        -0.054406282913560956,
        0.1544424516474848,
        -0.26991779697144513,
        0.2670277219048097,
        -0.04922290379091282,
        -0.27548256352588485,
        0.4778805031969773,
        -0.4670310516161868,
        0.3317856140129587,
        -0.17592946165709222,
        0.0680096565489385,
        -0.03072241832130962,
        0.0032696963836554745,
        0.005864963379556649,
        0.023616019479006024,
        0.04321725613067316,
        0.06350614776899742,
        0.0810349656839141,
        0.09350210585723466,
        0.09973556983946887,
        0.09973557010387663,
    )
)


# The tail over 2**24 exp(-t²/2), divided by k = 1 / (1 + 0.3 t), in powers of
# k, highest first. At t = 0 float32 makes exactly one half of it.
TAIL_ROUGH = tl.constexpr(
    (
        2.2365073153526473e-09,
        -9.822216534669991e-09,
        1.3065505423406484e-08,
        -3.89048858935162e-09,
        8.019482717217783e-09,
        5.8503439735912075e-09,
        7.213746993043537e-09,
        7.1294401493560144e-09,
    )
)


@triton.jit
def bounded_below(x):
    """x, or what it must not be less than: -inf, times Φ(-inf), were nan."""
    # Not by tl.maximum, which would drop a nan.
    far = FAR_FLOAT64 if x.dtype == tl.float64 else FAR_FLOAT32
    return tl.where(x < -far, -far, x)


@triton.jit
def bounded_above(x):
    """x, or the largest that gaussian and normal_tail are made for."""
    far = FAR_FLOAT64 if x.dtype == tl.float64 else FAR_FLOAT32
    return tl.where(x > far, far, x)


@triton.jit
def inverse(x):
    """1 / x of a float32 x > 0, to some units in the last place."""
    # A GPU divides in seven instructions, and has one for 1 / √x.
    root = tl.rsqrt(x)
    return root * root


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
    """exp(-x²/2) without the digits that a rounded x² loses.

    For a bounded x: bounded_below, bounded_above.
    """
    # Cody's split (1969): x² is z² and a rest, where z is |x| in whole
    # sixteenths, so that z² is exact.
    t = tl.abs(x)
    if x.dtype == tl.float64:
        z = (t + ROUNDER_FLOAT64) - ROUNDER_FLOAT64
        rest = (t - z) * (t + z)
        value = tl.exp(-0.5 * (z * z)) * tl.exp(-0.5 * rest)
    else:
        z = (t + ROUNDER_FLOAT32) - ROUNDER_FLOAT32
        rest = (t - z) * (t + z)
        small = z * z * HALF_LOG2_E_REST + rest * HALF_LOG2_E
        value = exp2_of_minus(z * z * HALF_LOG2_E_HEAD, small)
    return value


@triton.jit
def normal_tail(x, bell):
    """Φ(-|x|), the part of a normal distribution beyond |x|.

    For a bounded x. bell is gaussian(x), which a backward kernel needs a
    second time.
    """
    if x.dtype == tl.float64:
        k = 1.0 / (1.0 + 0.25 * tl.abs(x))
        ratio = k * polynomial(k, TAIL_FLOAT64)
    else:
        scale = 1.0 + 0.35 * tl.abs(x)
        k = inverse(scale)
        # A step of Newton's makes up for what the root lost.
        k += k * (1.0 - scale * k)
        ratio = k * polynomial(k, TAIL_FLOAT32)
    return ratio * bell


@triton.jit
def rough_gaussian(x):
    """2**24 exp(-x²/2) of a float32 that has the digits of 16 bits."""
    # x² is exact. Below 2**-126 a GPU's exp2 is 0: what is 2**24 times as
    # large is 0 only where nothing is left of it in 16 bits.
    return tl.exp2(x * x * -HALF_LOG2_E + 24.0)


@triton.jit
def rough_tail(x, bell):
    """Φ(-|x|) to a few parts in ten million, as 16 bits need it.

    bell is rough_gaussian(x).
    """
    k = inverse(1.0 + 0.3 * tl.abs(x))
    return k * polynomial(k, TAIL_ROUGH) * bell


@triton.jit
def normal_cdf_from(tail, x):
    """Φ(x) from the tail beyond |x|: nothing cancels on either side of 0."""
    return tl.where(x < 0.0, tail, 1.0 - tail)
