"""PyTorch's own samples for its elementwise ops, beside the float64 truth.

Those of square are the ones of every elementwise op, extreme values and odd
strides among them: each op is tried on them and on gelu's.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.launch import FLOAT_DTYPES
from triton_grad.testing.cases import OpCase

AssertRight = Callable[[Tensor, Tensor], None]

OP_INFOS = ("nn.functional.gelu", "square")

# The interpreter's numpy tells of what a GPU does without a word.
pytestmark = pytest.mark.gpu

# A million elements are seconds for a GPU, but minutes for the interpreter.
MOST_ELEMENTS = 2_000 if DEVICE == "cpu" else 2**21


@pytest.fixture(scope="module")
def op_infos() -> dict[str, Any]:
    """PyTorch's records of how it tests these ops; seconds to import."""
    pytest.importorskip("expecttest", reason="PyTorch's OpInfos import it")
    from torch.testing._internal import common_methods_invocations

    return {info.name: info for info in common_methods_invocations.op_db}


def samples(info: Any, dtype: torch.dtype) -> Iterator[Tensor]:
    """Every sample input of the exact op, and its non-contiguous twin."""
    for make in (info.sample_inputs, info.reference_inputs):
        for sample in make(DEVICE, dtype):
            exact = sample.kwargs.get("approximate", "none") == "none"
            if exact and sample.input.numel() <= MOST_ELEMENTS:
                yield sample.input.detach()
                yield sample.noncontiguous().input.detach()


def limit(oracle: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """The oracle, where it meets inf * 0 with the last finite x instead."""
    largest = torch.finfo(torch.float64).max
    truth = oracle(x.double())
    undefined = truth.isnan() & ~x.isnan()
    near = oracle(x.double().clamp(-largest, largest))
    return torch.where(undefined, near, truth)


def assert_right_or_extreme(
    assert_right: AssertRight, actual: Tensor, truth: Tensor
) -> None:
    """Right, infinite where the dtype holds no such number, nan as truth."""
    stored = truth.to(actual.dtype)
    extreme = ~stored.isfinite()
    assert torch.equal(actual.isnan(), truth.isnan())
    infinite = extreme & ~truth.isnan()
    assert torch.equal(actual[infinite], stored[infinite])
    assert_right(actual[~extreme], truth[~extreme])


def cotangents(x: Tensor) -> Iterator[Tensor]:
    """A random one, contiguous, and one with the dimensions in reverse."""
    generator = torch.Generator().manual_seed(x.numel())
    for reverse in (False, True):
        shape = x.shape[::-1] if reverse else x.shape
        values = torch.randn(shape, generator=generator, dtype=torch.float64)
        values = values.to(DEVICE, x.dtype)
        yield (
            values.permute(tuple(range(x.ndim))[::-1]) if reverse else values
        )


@pytest.mark.parametrize("dtype", FLOAT_DTYPES, ids=str)
@pytest.mark.parametrize("info", OP_INFOS)
def test_value_and_gradient_of_every_sample(
    op: OpCase,
    info: str,
    dtype: torch.dtype,
    op_infos: dict[str, Any],
    assert_right: AssertRight,
) -> None:
    count = 0
    for x in samples(op_infos[info], dtype):
        leaf = x.requires_grad_()
        y = op.apply(leaf)
        assert y.dtype == dtype
        assert y.stride() == op.reference(x).stride()
        truth = limit(op.oracle, x.detach())
        assert_right_or_extreme(assert_right, y.detach(), truth)
        for cotangent in cotangents(x):
            assert_gradient(op, leaf, y, cotangent, assert_right)
        count += 1
    assert count >= 8


def assert_gradient(
    op: OpCase,
    x: Tensor,
    y: Tensor,
    cotangent: Tensor,
    assert_right: AssertRight,
) -> None:
    (grad_input,) = torch.autograd.grad(y, x, cotangent, retain_graph=True)
    wide = cotangent.double()
    truth = limit(lambda at: op.backward_oracle(wide, at), x.detach())
    assert grad_input.dtype == x.dtype
    assert grad_input.stride() == (cotangent * x).stride()
    assert_right_or_extreme(assert_right, grad_input, truth)


@pytest.mark.parametrize("dtype", FLOAT_DTYPES, ids=str)
def test_the_samples_are_more_than_a_few_plain_tensors(
    dtype: torch.dtype, op_infos: dict[str, Any]
) -> None:
    seen = list(samples(op_infos["square"], dtype))
    assert any(not x.is_contiguous() for x in seen)
    assert any(x.ndim == 0 for x in seen)
    assert any(x.numel() == 0 for x in seen)
    assert any(x.isinf().any() for x in seen)
    assert any(x.isnan().any() for x in seen)
