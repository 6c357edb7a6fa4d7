"""Outputs that are shared, and devices that are not the tensor's."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.traps.row_sum_kernel_no_reset_to_zero import (
    TritonRowSumNoResetToZero,
    row_sum_kernel_no_reset_to_zero,
)
from triton_grad.traps.triton_square_current_device import (
    TritonSquareCurrentDevice,
)
from triton_grad.traps.triton_square_shared_result import (
    TritonSquareSharedResult,
)

Draw = Callable[..., Tensor]


def test_the_second_result_is_the_first_one_too(draw: Draw) -> None:
    x, other = draw(20, seed=1), draw(20, seed=2)
    first = TritonSquareSharedResult.apply(x)
    assert torch.equal(first, x * x)
    second = TritonSquareSharedResult.apply(other)
    assert torch.equal(second, other * other)
    assert torch.equal(first, second)


def test_the_trials_are_in_the_first_sum(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trials: list[None] = []

    def once(trial: Callable[[], None], quantiles: object) -> list[float]:
        trial()
        trials.append(None)
        return [1.0, 1.0, 1.0]

    tuner = vars(row_sum_kernel_no_reset_to_zero)
    monkeypatch.setitem(tuner, "do_bench", once)
    monkeypatch.setitem(tuner, "cache", {})
    x = torch.ones(1, 77).to(DEVICE)
    assert TritonRowSumNoResetToZero.apply(x).item() == 3 * 77.0
    assert len(trials) == 2
    assert TritonRowSumNoResetToZero.apply(x).item() == 77.0


def test_no_device_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[Tensor] = []
    original = torch.cuda.device_of

    def device_of(tensor: Tensor) -> torch.cuda.device_of:
        chosen.append(tensor)
        return original(tensor)

    monkeypatch.setattr(torch.cuda, "device_of", device_of)
    x = torch.ones(20).to(DEVICE)
    assert torch.equal(TritonSquareCurrentDevice.apply(x), x)
    assert not chosen


@pytest.mark.gpu
@pytest.mark.skipif(
    torch.cuda.device_count() < 2, reason="needs a second GPU"
)
def test_a_tensor_on_the_other_gpu_fails() -> None:
    x = torch.ones(20, device="cuda:1")
    with torch.cuda.device(0), pytest.raises(ValueError, match="Triton"):
        TritonSquareCurrentDevice.apply(x)
