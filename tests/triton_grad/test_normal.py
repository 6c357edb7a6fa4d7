"""The normal distribution's tail, and where its coefficients are from."""

import importlib.util
import math
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import mpmath
import pytest
import torch
import triton
import triton.language as tl
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.normal import (
    HALF_LOG2_E,
    HALF_LOG2_E_HEAD,
    HALF_LOG2_E_REST,
    TAIL_FLOAT32,
    TAIL_FLOAT64,
    TAIL_ROUGH,
    bounded_above,
    bounded_below,
    gaussian,
    normal_tail,
    rough_gaussian,
    rough_tail,
)
from triton_grad.testing.promises import ulp_error

pytestmark = pytest.mark.gpu
FIT = Path(__file__).parents[2] / "bench" / "fit_normal_tail.py"
# Where exp(-x²/2) becomes subnormal.
FAR = {torch.float32: 13.2, torch.float64: 37.6}
BLOCK = tl.constexpr(1024)
BOTH = pytest.mark.parametrize("dtype", FAR, ids=str)


@triton.jit
def both_kernel(x_ptr, gaussian_ptr, tail_ptr, n):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = bounded_above(bounded_below(tl.load(x_ptr + offsets, mask=mask)))
    tl.store(gaussian_ptr + offsets, gaussian(x), mask=mask)
    tl.store(tail_ptr + offsets, normal_tail(x, gaussian(x)), mask=mask)


def both(x: Tensor) -> tuple[Tensor, Tensor]:
    x = x.to(DEVICE)
    bell, tail = torch.empty_like(x), torch.empty_like(x)
    n = x.numel()
    both_kernel[(triton.cdiv(n, BLOCK.value),)](x, bell, tail, n)
    return bell.cpu(), tail.cpu()


def exact(function: Callable[[Any], Any], x: Tensor) -> Tensor:
    with mpmath.workdps(40):
        values = [float(function(mpmath.mpf(it))) for it in x.tolist()]
    return torch.tensor(values, dtype=torch.float64)


def exact_gaussian(x: Any) -> Any:
    return mpmath.exp(-x * x / 2)


def exact_tail(x: Any) -> Any:
    return mpmath.ncdf(-abs(x))


@pytest.fixture(scope="module")
def fitting() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fit_normal_tail", FIT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("name", "constants", "largest"),
    [
        ("FLOAT32", TAIL_FLOAT32, 2.0**-24),
        ("FLOAT64", TAIL_FLOAT64, 2.0**-54),
        # A thousandth of half a unit of fp16: so many are rounded wrongly.
        ("ROUGH", TAIL_ROUGH, 2.0**-20),
    ],
)
def test_the_coefficients_are_what_the_fit_gives(
    fitting: ModuleType, name: str, constants: tl.constexpr, largest: float
) -> None:
    """And the polynomial is nearer than the dtype's rounding."""
    coefficients, error = fitting.fit(*fitting.FITS[name])
    assert list(constants.value) == pytest.approx(coefficients, rel=1e-12)
    assert error < largest


def test_the_parts_of_the_logarithm() -> None:
    with mpmath.workdps(40):
        half = mpmath.log(mpmath.e, 2) / 2
        rest = half - mpmath.mpf(HALF_LOG2_E_HEAD.value)
    assert float(half) == HALF_LOG2_E.value
    assert float(rest) == pytest.approx(HALF_LOG2_E_REST.value, rel=1e-12)
    assert (256 * HALF_LOG2_E_HEAD.value).is_integer()


@BOTH
def test_the_gaussian_keeps_its_digits(dtype: torch.dtype) -> None:
    """exp of a rounded -x²/2 is wrong by 80 units in float32's tail."""
    x = torch.linspace(-FAR[dtype], FAR[dtype], 3001, dtype=torch.float64)
    x = x.to(dtype)
    bell, _ = both(x)
    assert ulp_error(bell, exact(exact_gaussian, x), dtype).max() < 4


@BOTH
def test_the_tail_keeps_its_digits(dtype: torch.dtype) -> None:
    x = torch.linspace(-FAR[dtype] + 0.3, 0.0, 3001, dtype=torch.float64)
    x = x.to(dtype)
    _, tail = both(x)
    assert ulp_error(tail, exact(exact_tail, x), dtype).max() < 7
    assert torch.equal(both(-x)[1], tail)


@BOTH
def test_subnormal_results_come_out(dtype: torch.dtype) -> None:
    """Not 0 at once: float32's smallest number is reached, digit by digit."""
    x = torch.linspace(FAR[dtype], FAR[dtype] + 2.0, 501).to(dtype)
    bell, tail = both(x)
    assert ulp_error(bell, exact(exact_gaussian, x), dtype).max() < 4
    assert ulp_error(tail, exact(exact_tail, x), dtype).max() < 2
    smallest = torch.finfo(dtype).smallest_normal * torch.finfo(dtype).eps
    assert bell[bell > 0.0].min() <= 4 * smallest
    assert bell[-1] == 0.0


@BOTH
def test_far_out_there_is_nothing_and_nan_stays(dtype: torch.dtype) -> None:
    largest = torch.finfo(dtype).max
    far = torch.tensor([100.0, 1e10, largest, math.inf], dtype=dtype)
    for results in (*both(far), *both(-far)):
        assert torch.equal(results, torch.zeros_like(results))
    for result in both(torch.tensor([math.nan], dtype=dtype)):
        assert result.isnan().all()


@triton.jit
def rough_kernel(x_ptr, gaussian_ptr, tail_ptr, n):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = bounded_below(tl.load(x_ptr + offsets, mask=mask))
    bell = rough_gaussian(x)
    tl.store(gaussian_ptr + offsets, bell, mask=mask)
    tl.store(tail_ptr + offsets, rough_tail(x, bell), mask=mask)


def rough(x: Tensor) -> tuple[Tensor, Tensor]:
    x = x.to(DEVICE)
    bell, tail = torch.empty_like(x), torch.empty_like(x)
    n = x.numel()
    rough_kernel[(triton.cdiv(n, BLOCK.value),)](x, bell, tail, n)
    return bell.cpu(), tail.cpu()


@pytest.mark.parametrize(
    ("dtype", "far"), [(torch.float16, 5.5), (torch.bfloat16, 13.4)], ids=str
)
def test_the_rough_tail_is_enough_for_16_bits(
    dtype: torch.dtype, far: float
) -> None:
    """Rounded, it is the exact one's rounding for 999 of 1000 numbers.

    In float32, from numbers of 16 bits: the interpreter, which launches bf16
    on float32 copies, has no other place for bf16's arithmetic.
    """
    x = torch.arange(2**16).to(torch.uint16).view(dtype).float()
    x = x[(x <= 0.0) & (x > -far)]
    _, tail = rough(x)
    # Not torch.special.ndtr, which in float64 has three digits at -8.
    truth = 0.5 * torch.special.erfc(x.double() * -(0.5**0.5))
    assert (tail.to(dtype) == truth.to(dtype)).double().mean() > 0.999
    assert ulp_error(tail.to(dtype), truth, dtype).max() < 0.51


def test_the_rough_tail_is_one_half_at_zero() -> None:
    """Exactly: half of an odd subnormal number is a tie."""
    bell, tail = rough(torch.tensor([0.0, -0.0]))
    assert bell.tolist() == [2.0**24] * 2
    assert tail.tolist() == [0.5, 0.5]


def test_the_rough_tail_ends() -> None:
    far = torch.tensor([15.1, 16.0, 1e4, 3e38, math.inf])
    for tail in (rough(far)[1], rough(-far)[1]):
        assert torch.equal(tail, torch.zeros_like(far))
    assert rough(torch.tensor([math.nan]))[1].isnan().all()


def test_compiled_coefficients_are_float64(
    run_python: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    """A number that stands alone is a float32 to Triton's compiler."""
    result = run_python(
        """
import re
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton_grad.normal import TAIL_FLOAT32, TAIL_FLOAT64
from triton_grad.ops.gelu import accurate_gelu_forward_kernel

def constants(dtype):
    signature = {"x_ptr": "*" + dtype, "y_ptr": "*" + dtype, "n": "i32"}
    signature["BLOCK"] = "constexpr"
    kernel = accurate_gelu_forward_kernel
    source = ASTSource(kernel, signature, constexprs={"BLOCK": 128})
    target = GPUTarget("cuda", 90, 32)
    code = triton.compile(source, target=target).asm["ttir"]
    dense = re.findall(r"dense<([-+.eE0-9]+)> : tensor<128xf(?:32|64)>", code)
    return [float(it) for it in dense]

missing = set(TAIL_FLOAT64.value) - set(constants("fp64"))
assert not missing, missing
single = constants("fp32")
for it in TAIL_FLOAT32.value:
    assert any(abs(it - one) <= abs(it) * 2e-7 for one in single), it
""",
        interpret="0",
    )
    assert result.returncode == 0, result.stderr
