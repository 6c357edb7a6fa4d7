"""The storage type decides the error, by its own last place."""

import pytest
import torch

from triton_grad.device import DEVICE
from triton_grad.ops.gelu_erf import triton_gelu_backward
from triton_grad.oracle import gelu_backward_oracle


def error(dtype: torch.dtype, seed: int) -> tuple[float, float]:
    """The largest error, and the largest gradient."""
    torch.manual_seed(seed)
    x, grad_output = 3 * torch.randn(2048), torch.randn(2048)
    grad = triton_gelu_backward(
        grad_output.to(DEVICE, dtype), x.to(DEVICE, dtype), BLOCK=512
    )
    truth = gelu_backward_oracle(grad_output, x)
    worst = (grad.cpu() - truth).abs().max()
    return worst.item(), truth.abs().max().item()


def test_the_figures_of_the_chapter() -> None:
    fp32, _ = error(torch.float32, seed=2)
    fp16, _ = error(torch.float16, seed=2)
    assert 1e-7 < fp32 < 5e-7
    assert fp16 == pytest.approx(0.0015156, rel=1e-4)
    assert 3000 < fp16 / fp32 < 13000


# Two inputs and the result are rounded, each by up to eps of its size (cut
# off) or half of it (to the nearest); x up to 11 is the largest of them.
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_the_error_is_a_few_last_places(
    dtype: torch.dtype, seed: int
) -> None:
    worst, largest = error(dtype, seed)
    eps = torch.finfo(dtype).eps
    assert eps / 10 < worst < 3 * eps * largest
