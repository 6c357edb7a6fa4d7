"""What comes uninitialized is filled, and is otherwise as it would be."""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.testing import poison
from triton_grad.testing.poison import Overrun, poisoned

MAKERS: dict[str, Callable[[], Tensor]] = {
    "empty": lambda: torch.empty(3, 4),
    "empty of a size": lambda: torch.empty((3, 4)),
    "empty in another dtype": lambda: torch.empty(5, dtype=torch.bfloat16),
    "empty that requires grad": lambda: torch.empty(3, requires_grad=True),
    "empty channels last": lambda: torch.empty(
        2, 3, 4, 5, memory_format=torch.channels_last
    ),
    "empty of no dimension": lambda: torch.empty(()),
    "empty of nothing": lambda: torch.empty(0, 4),
    "empty_like": lambda: torch.empty_like(torch.ones(4, 3).t()),
    "empty_like in float64": lambda: torch.empty_like(
        torch.ones(4), dtype=torch.float64
    ),
    "empty_strided": lambda: torch.empty_strided((3, 4), (8, 2)),
    "empty_strided, expanded": lambda: torch.empty_strided((3, 4), (0, 1)),
    "empty_permuted": lambda: torch.empty_permuted((2, 3, 4), (0, 2, 1)),
    "new_empty": lambda: torch.ones(2).double().new_empty(3, 2),
    "new_empty_strided": lambda: torch.ones(2).new_empty_strided((2,), (3,)),
    "complex": lambda: torch.empty(3, dtype=torch.complex64),
    "float8": lambda: torch.empty(3, dtype=torch.float8_e4m3fn),
}

made_somehow = pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)


def is_nan(tensor: Tensor) -> bool:
    """Whether all values are NaN, of whatever dtype."""
    values = tensor.detach()
    wide = values if values.is_complex() else values.float()
    return bool(wide.isnan().all())


def assert_same_kind(one: Tensor, other: Tensor) -> None:
    """Compare all of two tensors but their values."""
    assert one.shape == other.shape
    assert one.stride() == other.stride()
    assert one.storage_offset() == other.storage_offset()
    assert one.untyped_storage().nbytes() == other.untyped_storage().nbytes()
    assert one.dtype == other.dtype
    assert one.device == other.device
    assert one.requires_grad == other.requires_grad
    assert one.is_leaf == other.is_leaf
    assert one._is_view() == other._is_view()


@made_somehow
def test_floating_point_is_nan_and_the_rest_as_ever(
    maker: Callable[[], Tensor],
) -> None:
    with poisoned():
        tensor = maker()
    assert is_nan(tensor)
    assert_same_kind(tensor, maker())


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        (torch.int8, -(2**7)),
        (torch.int32, -(2**31)),
        (torch.int64, -(2**63)),
        (torch.uint8, 255),
        (torch.uint16, 2**16 - 1),
    ],
    ids=str,
)
def test_integers(dtype: torch.dtype, value: int) -> None:
    with poisoned():
        assert torch.empty(3, dtype=dtype).tolist() == [value] * 3


def test_booleans_and_what_is_not_strided_are_left() -> None:
    with poisoned():
        assert torch.empty(3, dtype=torch.bool).shape == (3,)
        sparse = torch.empty((3, 3), layout=torch.sparse_coo)
    assert sparse.layout == torch.sparse_coo


@pytest.mark.parametrize(
    "dtype", [torch.float4_e2m1fn_x2, torch.bits8], ids=str
)
def test_a_dtype_that_cannot_be_filled_is_left(dtype: torch.dtype) -> None:
    with poisoned():
        assert torch.empty(3, dtype=dtype).dtype == dtype


def test_what_has_values_is_left() -> None:
    with poisoned():
        x = torch.ones(3)
        assert torch.equal(x + torch.zeros_like(x), x)
        assert torch.equal(torch.cat((x, x)), torch.ones(6))


class HalfWritten(torch.autograd.Function):
    """Forward and backward write the first half of what they return."""

    @staticmethod
    def forward(ctx: object, x: Tensor) -> Tensor:
        return half_of(x)

    @staticmethod
    def backward(ctx: object, grad_output: Tensor) -> Tensor:
        return half_of(grad_output)


def half_of(x: Tensor) -> Tensor:
    """A copy of x, but for its second half."""
    y = torch.empty_like(x)
    half = x.numel() // 2
    y[:half] = x[:half]
    return y


def test_inside_a_functions_forward_and_backward() -> None:
    x = torch.ones(4, requires_grad=True)
    with poisoned():
        y = HalfWritten.apply(x)
        (grad,) = torch.autograd.grad(y, x, torch.ones(4))
    assert y.isnan().tolist() == [False, False, True, True]
    assert grad.isnan().tolist() == [False, False, True, True]


def test_inside_loss_backward() -> None:
    x = torch.ones(4, requires_grad=True)
    with poisoned():
        HalfWritten.apply(x)[:2].sum().backward()
    assert x.grad is not None
    assert x.grad.isnan().tolist() == [False, False, True, True]


def test_all_is_as_it_was_afterwards() -> None:
    before = torch.empty, torch.empty_like, Tensor.new_empty
    with pytest.raises(ZeroDivisionError), poisoned():
        raise ZeroDivisionError
    assert (torch.empty, torch.empty_like, Tensor.new_empty) == before
    assert "new_empty" not in vars(Tensor)


# On a GPU tensors lie between fences. The CPU stands in for one here.


@pytest.fixture
def fenced_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(poison, "FENCED_DEVICES", frozenset(("cpu",)))


def write(tensor: Tensor, element: int, count: int = 1) -> None:
    """Write elements of a tensor's memory, wherever they lie."""
    size = tensor.element_size()
    address = tensor.data_ptr() + element * size
    ctypes.memset(address, 0, count * size)


@pytest.mark.usefixtures("fenced_cpu")
@made_somehow
def test_a_fenced_tensor_is_as_it_would_be(
    maker: Callable[[], Tensor],
) -> None:
    with poisoned() as fences:
        tensor = maker()
        assert is_nan(tensor)
    assert fences.overruns() == ()
    assert_same_kind(tensor, maker())


@pytest.mark.usefixtures("fenced_cpu")
def test_a_fence_that_is_written_to() -> None:
    with poisoned() as fences:
        right = torch.empty(5)
        behind = torch.empty(5, 2)
        before = torch.empty(7, dtype=torch.float16)
        both = torch.empty(3, dtype=torch.int64)
    write(right, 0, 5)
    write(behind, 12, 3)
    write(before, -2, 1)
    write(both, -1)
    write(both, 3)
    assert fences.overruns() == (
        Overrun((5, 2), "torch.float32", 3, 5),
        Overrun((7,), "torch.float16", -2, -2),
        Overrun((3,), "torch.int64", -1, 1),
    )


@pytest.mark.usefixtures("fenced_cpu")
def test_one_byte_is_enough() -> None:
    with poisoned() as fences:
        tensor = torch.empty(5)
    write(tensor.view(torch.uint8), 23)
    assert fences.overruns() == (Overrun((5,), "torch.float32", 1, 1),)


@pytest.mark.usefixtures("fenced_cpu")
def test_memory_is_exchanged_while_its_own_gpu_is_the_current_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """PyTorch exchanges no other's: here a stand-in refuses to."""
    current: list[torch.device] = []
    exchange = torch.from_dlpack

    @contextmanager
    def device_of(tensor: Tensor) -> Iterator[None]:
        current.append(tensor.device)
        yield
        current.pop()

    def from_dlpack(tensor: Tensor) -> Tensor:
        if tensor.device not in current:
            raise BufferError("Can't export tensors on a different device")
        return exchange(tensor)

    monkeypatch.setattr(torch.cuda, "device_of", device_of)
    monkeypatch.setattr(torch, "from_dlpack", from_dlpack)
    with poisoned() as fences:
        torch.empty(5)
    assert len(fences.fences) == 1
    assert current == []


def test_no_fences_where_the_watch_sees_it_all() -> None:
    with poisoned() as fences:
        tensor = torch.empty(5)
    assert tensor.untyped_storage().nbytes() == 20
    assert fences.fences == []
    assert fences.overruns() == ()


@triton.jit
def _fill_kernel(x_ptr, start, BLOCK: tl.constexpr):
    tl.store(x_ptr + start + tl.arange(0, BLOCK), 1.0)


fill_kernel: Any = _fill_kernel


@pytest.mark.gpu
@pytest.mark.skipif(DEVICE != "cuda", reason="needs a GPU")
def test_fences_on_a_gpu() -> None:
    with poisoned() as fences:
        x = torch.empty(1000, device="cuda")
        y = torch.empty(1000, device="cuda")
    assert x.isnan().all()
    fill_kernel[(1,)](x, 998, BLOCK=8)
    fill_kernel[(1,)](y, -2, BLOCK=4)
    assert x.data_ptr() % 256 == 0
    assert fences.overruns() == (
        Overrun((1000,), "torch.float32", 1, 6),
        Overrun((1000,), "torch.float32", -2, -1),
    )


@pytest.mark.gpu
@pytest.mark.skipif(
    DEVICE != "cuda" or torch.cuda.device_count() < 2,
    reason="needs two GPUs",
)
def test_fences_on_a_gpu_that_is_not_the_current_one() -> None:
    with poisoned() as fences:
        x = torch.empty(1000, device="cuda:1")
    assert x.device.index == 1
    assert torch.cuda.current_device() == 0
    assert x.isnan().all()
    assert len(fences.fences) == 1
    assert fences.overruns() == ()


@pytest.mark.gpu
@pytest.mark.skipif(DEVICE != "cuda", reason="needs a GPU")
def test_in_a_backward_on_a_gpu() -> None:
    x = torch.ones(4, device="cuda", requires_grad=True)
    with poisoned() as fences:
        y = HalfWritten.apply(x)
        (grad,) = torch.autograd.grad(y, x, torch.ones_like(x))
    assert grad.isnan().tolist() == [False, False, True, True]
    assert len(fences.fences) == 2
