"""Rounded inputs and a rounded result explain the loss; nothing else."""

import pytest
import torch
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.launch import launch_programs
from triton_grad.ops.gelu_erf import gelu_backward_kernel
from triton_grad.oracle import gelu_backward_oracle

LOW = [torch.float16, torch.bfloat16]


@pytest.fixture
def inputs() -> tuple[Tensor, Tensor]:
    torch.manual_seed(2)
    x, grad_output = 3 * torch.randn(2048), torch.randn(2048)
    return grad_output.to(DEVICE), x.to(DEVICE)


def launched(inputs: tuple[Tensor, ...], result: torch.dtype) -> Tensor:
    grad = torch.empty(2048, dtype=result, device=DEVICE)
    launch_programs(gelu_backward_kernel, *inputs, grad, BLOCK=512)
    return grad


@pytest.mark.parametrize("low", LOW)
def test_the_arithmetic_on_rounded_inputs_is_fp32(
    inputs: tuple[Tensor, Tensor], low: torch.dtype
) -> None:
    rounded = (inputs[0].to(low), inputs[1].to(low))
    got = launched(rounded, torch.float32).double()
    truth = gelu_backward_oracle(*rounded)
    torch.testing.assert_close(got, truth, rtol=1e-6, atol=5e-7)


@pytest.mark.parametrize("low", LOW)
def test_what_rounding_the_inputs_costs_is_no_matter_of_the_kernel(
    inputs: tuple[Tensor, Tensor], low: torch.dtype
) -> None:
    rounded = (inputs[0].to(low), inputs[1].to(low))
    truth = gelu_backward_oracle(*inputs)
    by_kernel = launched(rounded, torch.float32) - truth
    in_fp64 = gelu_backward_oracle(*rounded) - truth
    assert in_fp64.abs().max() > 1e-4
    assert (by_kernel - in_fp64).abs().max() < 1e-6


def test_the_store_rounds_the_fp32_result_once(
    inputs: tuple[Tensor, Tensor],
) -> None:
    exact = launched(inputs, torch.float32)
    stored = launched(inputs, torch.float16)
    assert torch.equal(stored, exact.half())
    assert (stored - exact).abs().max() > 1e-4


@pytest.mark.skipif(DEVICE != "cpu", reason="a GPU rounds to the nearest")
def test_the_interpreter_cuts_bf16_off(
    inputs: tuple[Tensor, Tensor],
) -> None:
    exact = launched(inputs, torch.float32)
    stored = launched(inputs, torch.bfloat16).float()
    assert (stored.abs() <= exact.abs()).all()
    assert not torch.equal(stored, exact.bfloat16().float())
