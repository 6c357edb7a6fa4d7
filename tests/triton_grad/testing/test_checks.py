"""What a check must not accuse, and what it must not leave untold."""

from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.testing import poison
from triton_grad.testing.check import check_op
from triton_grad.testing.report import Result, Verdict

pytestmark = pytest.mark.skipif(
    DEVICE != "cpu", reason="a kernel of this file is interpreted here"
)


@triton.jit
def persistent_kernel(x_ptr, y_ptr, n, step, BLOCK: tl.constexpr):
    """A fixed number of programs, each of which goes on to later blocks."""
    first = tl.program_id(0) * BLOCK
    for start in range(0, n, step):
        offsets = tl.cast(start, tl.int64) + first + tl.arange(0, BLOCK)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask)
        tl.store(y_ptr + offsets, x * x, mask=mask)


@triton.jit
def growing_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(y_ptr + offsets, x * x, mask=mask)


def persistent(x: Tensor) -> Tensor:
    x = x.contiguous()
    y = torch.empty_like(x)
    kernel: Any = persistent_kernel
    kernel[(4,)](x, y, x.numel(), 4 * 64, BLOCK=64)
    return y


def growing(x: Tensor) -> Tensor:
    x = x.contiguous()
    y = torch.empty_like(x)
    kernel: Any = growing_kernel
    kernel[(-(-x.numel() // 64),)](x, y, x.numel(), BLOCK=64)
    return y


def result_of(op: Any, oracle: Any, check: str, *inputs: Any) -> Result:
    report = check_op(op, oracle, inputs or ("...",), checks=[check])
    (result,) = report.results
    return result


def test_a_grid_that_does_not_grow_has_no_program_far_out() -> None:
    assert result_of(persistent, torch.square, "offsets").verdict is (
        Verdict.RIGHT
    )
    wrapped = result_of(growing, torch.square, "offsets")
    assert wrapped.verdict is Verdict.WRONG
    assert wrapped.note == "32-bit offset"


def refuses_all(x: Tensor) -> Tensor:
    raise ValueError("no tensor is good enough")


def test_an_op_that_takes_nothing_is_told_with_its_words() -> None:
    result = result_of(refuses_all, torch.square, "values")
    assert result.verdict is Verdict.CRASHES
    assert result.failure is not None
    assert "no tensor is good enough" in result.failure.got


class Once(torch.autograd.Function):
    """A square that can be differentiated once."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 2.0 * x * grad_output


def test_an_oracle_without_a_second_gradient_is_no_fault_of_the_op() -> None:
    result = result_of(torch.square, Once.apply, "second order")
    assert result.verdict is Verdict.NOT_TRIED


def test_once_differentiable_refuses_and_the_limit_is_told() -> None:
    result = result_of(Once.apply, torch.square, "second order")
    assert result.verdict is Verdict.REFUSES
    assert "drops it without a word" in result.note


def test_without_a_kernel_there_is_nothing_to_watch() -> None:
    for check in ("bounds", "races", "undefined lanes", "offsets"):
        result = result_of(torch.square, torch.square, check)
        assert result.verdict is Verdict.NOT_TRIED
        assert "no Triton kernel" in result.note


def scaled(factor: Tensor, x: Tensor) -> Tensor:
    return factor.detach() * x


def scaled_without_gradient(factor: Tensor, x: Tensor) -> Tensor:
    return (factor * x.detach()) * 1.0 + 0.0 * x


def scaled_if_all_are_wanted(factor: Tensor, x: Tensor) -> Tensor:
    return factor * x if factor.requires_grad else factor * x.detach()


def test_an_input_that_is_a_constant_has_no_gradient_alone() -> None:
    alone = result_of(scaled, scaled, "each input alone", "...", "...")
    assert alone.verdict is Verdict.RIGHT
    assert alone.note == "1 trial"


def test_an_input_that_is_a_constant_hides_no_other() -> None:
    result = result_of(
        scaled_without_gradient, scaled, "gradient", "...", "..."
    )
    assert result.verdict is Verdict.WRONG


def test_a_graph_that_one_input_alone_does_not_get_is_told() -> None:
    result = result_of(
        scaled_if_all_are_wanted, torch.mul, "each input alone", "...", "..."
    )
    assert result.verdict is Verdict.WRONG
    assert result.note == "cut off the graph"


def allocating(x: Tensor) -> Tensor:
    y = torch.empty_like(x)
    y.copy_(x)
    return y * y


def test_what_the_checkers_fences_raise_is_no_refusal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def from_dlpack(tensor: Tensor) -> Tensor:
        raise BufferError("Can't export tensors on a different device")

    monkeypatch.setattr(poison, "FENCED_DEVICES", frozenset(("cpu",)))
    monkeypatch.setattr(torch, "from_dlpack", from_dlpack)
    result = result_of(allocating, torch.square, "empty tensors")
    assert result.verdict is Verdict.RIGHT  # of nothing there is no fence
    result = result_of(allocating, torch.square, "inputs untouched")
    assert result.verdict is Verdict.CRASHES


@pytest.mark.parametrize("check", ["compile", "vmap"])
def test_under_a_transformation_nothing_is_poisoned(
    check: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spoil(tensor: Tensor) -> None:
        raise RuntimeError("it is poisoned")

    monkeypatch.setattr(poison, "spoil", spoil)
    result = result_of(allocating, torch.square, check)
    assert result.verdict is Verdict.RIGHT


def of_unlike_shapes(x: Tensor) -> Tensor:
    return x + torch.ones(x.numel() + 2)


def test_what_torch_compile_raises_is_no_refusal() -> None:
    result = result_of(of_unlike_shapes, torch.square, "compile")
    assert result.verdict is Verdict.CRASHES
