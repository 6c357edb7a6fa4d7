"""Any number of elements: block edges, none at all, more than 2**31.

triton#1058: beyond 2**31 elements a 32-bit offset wraps. That it is 64-bit
in the compiled code as well is shown in test_compiles_for_gpu.py.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.runtime import KernelInterface
from triton.runtime.interpreter import TensorHandle, interpreter_builder

from triton_grad.device import DEVICE
from triton_grad.launch import launch_programs
from triton_grad.testing.cases import OpCase

AssertRight = Callable[[Tensor, Tensor], None]
Draw = Callable[..., Tensor]

BLOCKS = [2**power for power in range(12)]
CANARY = 7.0


def sizes_around_edges(block: int) -> list[int]:
    edges = (block, 2 * block)
    near = {edge + step for edge in edges for step in (-1, 0, 1)}
    return sorted(near - {0})


@pytest.mark.parametrize("block", BLOCKS)
def test_around_the_edges_of_a_block(
    op: OpCase, block: int, draw: Draw, assert_right: AssertRight
) -> None:
    for n in sizes_around_edges(block):
        x, grad_output = draw(n, seed=1), draw(n, seed=2)
        assert_right(op.forward(x, BLOCK=block), op.oracle(x))
        assert_right(
            op.backward(grad_output, x, BLOCK=block),
            op.backward_oracle(grad_output, x),
        )


@pytest.mark.parametrize("block", BLOCKS)
def test_every_element_is_written_and_no_other(
    op: OpCase, block: int, draw: Draw
) -> None:
    """The canaries before and behind the output survive, its NaN do not."""
    for n in (block, block + 1, 3 * block - 1):
        x, grad_output = draw(n, seed=3), draw(n, seed=4)
        for kernel, inputs in (
            (op.forward.kernel, (x,)),
            (op.backward.kernel, (grad_output, x)),
        ):
            memory = torch.full((n + 2 * block,), CANARY, device=DEVICE)
            output = memory[block : block + n].fill_(torch.nan)
            launch_programs(kernel, *inputs, output, BLOCK=block)
            assert output.isfinite().all()
            assert (memory[:block] == CANARY).all()
            assert (memory[block + n :] == CANARY).all()


@pytest.fixture
def grids(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The grid of every launch."""
    seen: list[tuple[int, ...]] = []
    original = KernelInterface.__getitem__

    def spy(kernel: Any, grid: tuple[int, ...]) -> Any:
        seen.append(grid)
        return original(kernel, grid)

    monkeypatch.setattr(KernelInterface, "__getitem__", spy)
    return seen


@pytest.mark.parametrize("shape", [(0,), (3, 0, 2), (2, 0)])
def test_nothing_is_launched_for_no_elements(
    op: OpCase, shape: tuple[int, ...], grids: list[tuple[int, ...]]
) -> None:
    """A GPU refuses an empty grid; the interpreter would not mind it."""
    x = torch.empty(shape, device=DEVICE, requires_grad=True)
    y = op.apply(x)
    (grad_input,) = torch.autograd.grad(y.sum(), x)
    assert y.shape == grad_input.shape == shape
    assert grids == []


@pytest.mark.parametrize(
    ("n", "programs"), [(1, 1), (1023, 1), (1024, 1), (1025, 2), (3073, 4)]
)
def test_no_program_too_many(
    op: OpCase,
    n: int,
    programs: int,
    grids: list[tuple[int, ...]],
    draw: Draw,
) -> None:
    x = draw(n, seed=5)
    op.backward(x, op.forward(x))
    assert grids == [(programs,), (programs,)]


# What follows: beyond 2**31.

FAR_PROGRAM = 2**21
FAR_BLOCK = 1024
FAR = FAR_PROGRAM * FAR_BLOCK
LIVE_LANES = 37
assert FAR == 2**31


@triton.jit
def offset_kernel(wrapped_ptr, exact_ptr, BLOCK: tl.constexpr):
    """Where a program begins, in 32 bits and in 64."""
    tl.store(wrapped_ptr, (tl.program_id(0) * BLOCK).to(tl.int64))
    tl.store(exact_ptr, tl.program_id(0).to(tl.int64) * BLOCK)


@pytest.fixture
def far_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter's first program is the one at element 2**31."""

    def place(x: int, y: int, z: int) -> None:
        interpreter_builder.grid_idx = (FAR_PROGRAM + x, y, z)

    # Undone on the instance, it would shadow the class ever after.
    monkeypatch.setattr(
        type(interpreter_builder), "set_grid_idx", staticmethod(place)
    )


@dataclass
class Access:
    """What one load or store would have touched: arrays, a lane each."""

    addresses: Any
    mask: Any


@pytest.fixture
def accesses(monkeypatch: pytest.MonkeyPatch) -> list[Access]:
    """Every load and store of the interpreter, none of which is done."""
    noted: list[Access] = []
    builder = interpreter_builder
    load, store = builder.create_masked_load, builder.create_masked_store

    def note(pointers: TensorHandle, mask: TensorHandle) -> TensorHandle:
        noted.append(Access(pointers.data.copy(), mask.data.copy()))
        return TensorHandle(mask.data & False, mask.dtype)

    def spy_load(
        pointers: TensorHandle, mask: TensorHandle, *rest: Any
    ) -> Any:
        return load(pointers, note(pointers, mask), *rest)

    def spy_store(
        pointers: TensorHandle,
        value: TensorHandle,
        mask: TensorHandle,
        *rest: Any,
    ) -> Any:
        return store(pointers, value, note(pointers, mask), *rest)

    monkeypatch.setattr(
        type(builder), "create_masked_load", staticmethod(spy_load)
    )
    monkeypatch.setattr(
        type(builder), "create_masked_store", staticmethod(spy_store)
    )
    return noted


only_interpreted = pytest.mark.skipif(
    DEVICE != "cpu", reason="looks into the interpreter"
)


@only_interpreted
@pytest.mark.usefixtures("far_program")
def test_the_interpreter_wraps_as_a_gpu_does() -> None:
    """So that the next test can fail."""
    wrapped = torch.zeros(1, dtype=torch.int64)
    exact = torch.zeros(1, dtype=torch.int64)
    programs: Any = offset_kernel[(1,)]
    programs(wrapped, exact, BLOCK=FAR_BLOCK)
    assert wrapped.item() == -(2**31)
    assert exact.item() == 2**31


@only_interpreted
@pytest.mark.usefixtures("far_program")
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_a_program_beyond_2_to_the_31_computes_its_addresses_in_64_bits(
    op: OpCase, direction: str, accesses: list[Access]
) -> None:
    """triton#1058 with no large tensor, as nothing is read or written."""
    forward = direction == "forward"
    kernel = (op.forward if forward else op.backward).kernel
    tensors = [torch.zeros(1) for _ in range(2 if forward else 3)]
    n = FAR + LIVE_LANES
    kernel[(1,)](*tensors, n, BLOCK=FAR_BLOCK)
    lanes = torch.arange(FAR_BLOCK)
    for tensor, access in zip(tensors, accesses, strict=True):
        addresses = torch.from_numpy(access.addresses.astype("int64"))
        expected = tensor.data_ptr() + (FAR + lanes) * tensor.itemsize
        assert torch.equal(addresses, expected)
        mask = torch.from_numpy(access.mask)
        assert torch.equal(mask, lanes < LIVE_LANES)


@pytest.mark.gpu
@pytest.mark.skipif(DEVICE != "cuda", reason="12 GiB, and 2**21 programs")
def test_more_than_2_to_the_31_elements(
    op: OpCase, assert_right: AssertRight
) -> None:
    n = 2**31 + 4096
    x, grad_output = (
        torch.empty(n, dtype=torch.bfloat16, device=DEVICE).normal_(
            generator=torch.Generator(DEVICE).manual_seed(seed)
        )
        for seed in (1, 2)
    )
    y = op.forward(x)
    grad_input = op.backward(grad_output, x)
    for chunk in _chunks(n):
        assert_right(y[chunk], op.oracle(x[chunk]))
        truth = op.backward_oracle(grad_output[chunk], x[chunk])
        assert_right(grad_input[chunk], truth)


def _chunks(n: int, size: int = 2**24) -> Iterator[slice]:
    for start in range(0, n, size):
        yield slice(start, start + size)
