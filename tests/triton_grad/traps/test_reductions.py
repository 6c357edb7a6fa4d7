"""Lanes past the row that count, and sums that are added in vain."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.launch import is_interpreted
from triton_grad.traps._grid import launch_grid
from triton_grad.traps.add_bias_backward_kernel_no_atomic import (
    TritonAddBiasNoAtomic,
    add_bias_backward_kernel_no_atomic,
)
from triton_grad.traps.layer_norm_forward_kernel_padding_in_variance import (
    TritonLayerNormPaddingInVariance,
)
from triton_grad.traps.row_mean_kernel_divides_by_block import (
    TritonRowMeanDividesByBlock,
)
from triton_grad.traps.row_sum_kernel_no_other import (
    TritonRowSumNoOther,
    row_sum_kernel_no_other,
)
from triton_grad.traps.softmax_forward_kernel_zero_padding import (
    TritonSoftmaxZeroPadding,
)

Draw = Callable[..., Tensor]


def test_the_mean_is_too_near_to_zero() -> None:
    x = torch.ones(2, 6).to(DEVICE)
    assert TritonRowMeanDividesByBlock.apply(x).tolist() == [0.75, 0.75]


def test_rows_do_not_sum_to_one() -> None:
    y = TritonSoftmaxZeroPadding.apply(torch.zeros(1, 6).to(DEVICE))
    assert y.sum().item() == pytest.approx(0.75)


def test_the_mean_gets_into_the_variance() -> None:
    """6 columns of mean 4 and variance 1; two lanes add 4² each."""
    x = torch.tensor([[3.0, 5.0, 3.0, 5.0, 3.0, 5.0]]).to(DEVICE)
    y = TritonLayerNormPaddingInVariance.apply(x, 0.0)
    expected = (x - 4.0) / (1.0 + 2 * 4.0**2 / 6) ** 0.5
    torch.testing.assert_close(y, expected)


@pytest.mark.skipif(
    not is_interpreted(row_sum_kernel_no_other),
    reason="nothing says what a GPU's masked lanes are",
)
def test_undefined_lanes_get_into_the_sum(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from triton.runtime.interpreter import InterpreterBuilder, TensorHandle

    original = InterpreterBuilder.create_masked_load

    def load(
        builder: InterpreterBuilder,
        ptrs: TensorHandle,
        mask: TensorHandle,
        other: TensorHandle | None,
        *others: object,
    ) -> TensorHandle:
        loaded = original(builder, ptrs, mask, other, *others)
        if other is None:
            loaded.data[~mask.data] = 100.0
        return loaded

    x = torch.ones(1, 6).to(DEVICE)
    assert TritonRowSumNoOther.apply(x).item() == 6.0
    monkeypatch.setattr(InterpreterBuilder, "create_masked_load", load)
    assert TritonRowSumNoOther.apply(x).item() == 206.0


def test_the_bias_gradient_is_right_where_programs_take_turns(
    draw: Draw,
) -> None:
    if not is_interpreted(add_bias_backward_kernel_no_atomic):
        pytest.skip("on a GPU they do not")
    x, bias = draw(5, 6, seed=1), draw(6, seed=2).requires_grad_()
    grad_output = draw(5, 6, seed=3)
    y = TritonAddBiasNoAtomic.apply(x, bias)
    (grad,) = torch.autograd.grad(y, bias, grad_output)
    torch.testing.assert_close(grad, grad_output.sum(0))


@pytest.mark.skipif(
    not is_interpreted(add_bias_backward_kernel_no_atomic),
    reason="on a GPU programs meet by chance",
)
def test_the_bias_gradient_is_one_row_where_programs_meet(
    draw: Draw, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if every program loaded before any of them stored."""
    from triton.runtime.interpreter import InterpreterBuilder, TensorHandle

    grad_output, grad_bias = draw(5, 8, seed=1), torch.zeros(8)
    original = InterpreterBuilder.create_masked_load

    def load(
        builder: InterpreterBuilder, ptrs: TensorHandle, *others: object
    ) -> TensorHandle:
        loaded = original(builder, ptrs, *others)
        if ptrs.data.flat[0] == grad_bias.data_ptr():
            loaded.data[:] = 0.0
        return loaded

    monkeypatch.setattr(InterpreterBuilder, "create_masked_load", load)
    kernel = add_bias_backward_kernel_no_atomic
    launch_grid(kernel, (5,), grad_output, grad_bias, 8, BLOCK=8)
    assert torch.equal(grad_bias, grad_output[4])


@pytest.mark.gpu
@pytest.mark.skipif(DEVICE == "cpu", reason="the interpreter takes turns")
def test_the_bias_gradient_loses_rows_on_a_gpu() -> None:
    x = torch.zeros(20000, 64, device=DEVICE)
    bias = torch.zeros(64, device=DEVICE, requires_grad=True)
    TritonAddBiasNoAtomic.apply(x, bias).sum().backward()
    assert bias.grad is not None
    assert (bias.grad < 20000.0).any()
