"""What these kernels touch besides their tensors, and what they leave out.

Each tensor has room behind it, so that nothing here is corrupted.
"""

from collections.abc import Callable

import numpy
import pytest
import torch
import triton.language as tl
from torch import Tensor
from triton.runtime import KernelInterface

from triton_grad.device import DEVICE
from triton_grad.launch import is_interpreted, launch_programs
from triton_grad.ops.square import square_forward_kernel
from triton_grad.oracle import square_backward_oracle, square_oracle
from triton_grad.traps.relu_forward_kernel_stores_positive import (
    relu_forward_kernel_stores_positive,
)
from triton_grad.traps.square_backward_kernel_mask_one_too_many import (
    square_backward_kernel_mask_one_too_many,
)
from triton_grad.traps.square_forward_kernel_32_bit_offset import (
    square_forward_kernel_32_bit_offset,
)
from triton_grad.traps.square_forward_kernel_load_no_mask import (
    square_forward_kernel_load_no_mask,
)
from triton_grad.traps.square_forward_kernel_store_no_mask import (
    square_forward_kernel_store_no_mask,
)
from triton_grad.traps.triton_square_forward_floor_grid import (
    triton_square_forward_floor_grid,
)

AssertRight = Callable[[Tensor, Tensor], None]
Draw = Callable[..., Tensor]
N, BLOCK = 80, 64


@pytest.mark.parametrize(
    ("kernel", "overwritten"),
    [
        (square_forward_kernel_load_no_mask, 0),
        (square_forward_kernel_store_no_mask, 2 * BLOCK - N),
    ],
)
def test_a_forward_is_right_and_may_overwrite(
    kernel: KernelInterface[object],
    overwritten: int,
    draw: Draw,
    assert_right: AssertRight,
) -> None:
    x = draw(2 * BLOCK, seed=1)
    memory = torch.full((2 * BLOCK,), 7.0, device=DEVICE)
    launch_programs(kernel, x[:N], memory[:N], BLOCK=BLOCK)
    assert_right(memory[:N], square_oracle(x[:N]))
    assert (memory[N:] != 7.0).sum() == overwritten


def test_a_load_without_mask_reads_forbidden_memory(
    run_python: Callable[..., object],
) -> None:
    """In a process of its own, which it ends."""
    source = f"""
import torch
from triton_grad.launch import launch_programs
from triton_grad.testing.guard_pages import guarded
from triton_grad.traps.square_forward_kernel_load_no_mask import (
    square_forward_kernel_load_no_mask as kernel
)
x = guarded(torch.ones({N}))
launch_programs(kernel, x[:{BLOCK}], torch.empty({BLOCK}), BLOCK={BLOCK})
print("whole blocks are fine", flush=True)
launch_programs(kernel, x, torch.empty({N}), BLOCK={BLOCK})
"""
    if DEVICE != "cpu":
        pytest.skip("guard pages are the CPU's")
    ended = run_python(source, interpret="1")
    assert getattr(ended, "stdout", "").startswith("whole blocks")
    assert getattr(ended, "returncode", 0) == -11


def test_one_lane_too_many_writes_one_element(
    draw: Draw, assert_right: AssertRight
) -> None:
    x, grad_output = draw(2 * BLOCK, seed=1), draw(2 * BLOCK, seed=2)
    memory = torch.full((2 * BLOCK,), 7.0, device=DEVICE)
    launch_programs(
        square_backward_kernel_mask_one_too_many,
        grad_output[:N],
        x[:N],
        memory[:N],
        BLOCK=BLOCK,
    )
    truth = square_backward_oracle(grad_output, x)
    assert_right(memory[: N + 1], truth[: N + 1])
    assert (memory[N + 1 :] == 7.0).all()


@pytest.mark.parametrize("n", [BLOCK - 1, BLOCK, N])
def test_a_rounded_down_grid_leaves_the_rest(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "empty_like", unwritten_like)
    y = triton_square_forward_floor_grid(torch.ones(n).to(DEVICE), BLOCK)
    whole = n // BLOCK * BLOCK
    assert (y[:whole] == 1.0).all()
    assert (y[whole:] == 7.0).all()


def unwritten_like(tensor: Tensor) -> Tensor:
    return torch.full_like(tensor, 7.0)


def test_what_is_not_positive_is_not_written() -> None:
    x = torch.tensor([2.0, 0.0, -1.0, 3.0]).to(DEVICE)
    y = torch.full_like(x, 7.0)
    launch_programs(relu_forward_kernel_stores_positive, x, y, BLOCK=4)
    assert y.tolist() == [2.0, 7.0, 7.0, 3.0]


@pytest.mark.skipif(
    not is_interpreted(square_forward_kernel_32_bit_offset),
    reason="a GPU would need 2³¹ elements",
)
def test_an_offset_of_32_bits_wraps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of program 2²³ with 256 lanes, whose element 2³¹ is the first."""
    from triton.runtime.interpreter import InterpreterBuilder, TensorHandle

    addresses: list[int] = []

    def far_out(builder: InterpreterBuilder, axis: int) -> TensorHandle:
        return TensorHandle(numpy.array([2**23], numpy.int32), tl.int32)

    def load(
        builder: InterpreterBuilder, ptrs: TensorHandle, *others: object
    ) -> TensorHandle:
        addresses.append(int(ptrs.data.flat[0]))
        return TensorHandle(numpy.zeros(256, numpy.float32), tl.float32)

    def store(*arguments: object) -> None:
        pass

    monkeypatch.setattr(InterpreterBuilder, "create_get_program_id", far_out)
    monkeypatch.setattr(InterpreterBuilder, "create_masked_load", load)
    monkeypatch.setattr(InterpreterBuilder, "create_masked_store", store)
    memory = torch.zeros(1)
    distances = []
    for kernel in (
        square_forward_kernel,
        square_forward_kernel_32_bit_offset,
    ):
        launch_programs(kernel, memory, memory, BLOCK=256)
        distances.append((addresses[-1] - memory.data_ptr()) // 4)
    assert distances == [2**31, -(2**31)]
