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

# The tail over exp(-t²/2), divided by k = 1 / (1 + t/4), as polynomials in
# 2k - 1, highest power first: fitted by bench/fit_normal_tail.py.
TAIL_FLOAT32 = tl.constexpr(
    (
        3.1389596400564026e-05,
        4.724912985506599e-05,
        -0.0003917204219452262,
        -0.0008802432059965935,
        0.0018813506045521362,
        0.015101546378572948,
        0.046630826689441955,
        0.09678417076760136,
        0.15197414853627045,
        0.18882128464904824,
    )
)
TAIL_FLOAT64 = tl.constexpr(
    (
        -2.413356355057126e-10,
        -1.8173863697566723e-11,
        3.4810059983754273e-09,
        -3.644648336759115e-09,
        -1.9095205133726126e-08,
        3.856580134192769e-08,
        6.592062144101906e-08,
        -2.549512129533793e-07,
        -1.56283026011967e-07,
        1.479723182940809e-06,
        1.7875139898040247e-07,
        -8.786045289440243e-06,
        -4.769666329153394e-07,
        5.777370457984405e-05,
        3.333606350476228e-05,
        -0.0004077046104725899,
        -0.0008699230905606333,
        0.0018850472413982648,
        0.015099143722674867,
        0.04663046448992354,
        0.09678435018555472,
        0.15197416049297294,
        0.18882128260393788,
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
        ratio = k * polynomial(2.0 * k - 1.0, TAIL_FLOAT64)
    else:
        scale = 1.0 + 0.25 * tl.abs(x)
        k = inverse(scale)
        # A step of Newton's makes up for what the root lost.
        k += k * (1.0 - scale * k)
        ratio = k * polynomial(2.0 * k - 1.0, TAIL_FLOAT32)
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
