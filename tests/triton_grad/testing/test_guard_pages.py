"""A guarded tensor holds the same values and ends where memory ends."""

import gc
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from triton_grad.testing.guard_pages import guarded

RunPython = Callable[..., subprocess.CompletedProcess[str]]

ACCESS = """
import ctypes
import torch
from triton_grad.testing.guard_pages import guarded
tensor = guarded(torch.ones({count}, dtype=torch.{dtype}))
end = tensor.data_ptr() + tensor.numel() * tensor.element_size()
ctypes.memset(end - 1, 0, 1)
print("the last byte is ours", flush=True)
{access}
print("nothing happened")
"""


@pytest.mark.parametrize("count", [1, 1000, 1024, 5000])
@pytest.mark.parametrize(
    "dtype",
    [torch.uint8, torch.bfloat16, torch.float32, torch.complex128],
    ids=str,
)
def test_the_values_are_the_same(count: int, dtype: torch.dtype) -> None:
    values = torch.arange(count).to(dtype).view(-1, 1)
    copy = guarded(values)
    assert copy.shape == values.shape
    assert copy.dtype == dtype
    assert torch.equal(copy, values)


@pytest.mark.parametrize(
    ("count", "dtype", "access"),
    [
        (5, "float32", "ctypes.string_at(end, 1)"),
        (1024, "float32", "ctypes.memset(end, 0, 1)"),
        (3000, "float16", "ctypes.string_at(end + 8192, 1)"),
    ],
)
def test_one_byte_past_the_end_is_fatal(
    count: int, dtype: str, access: str, run_python: RunPython
) -> None:
    source = ACCESS.format(count=count, dtype=dtype, access=access)
    result = run_python(source)
    assert result.stdout == "the last byte is ours\n"
    assert result.returncode == -11


def test_a_copy_in_order_without_history() -> None:
    values = torch.arange(6.0).view(2, 3).t().requires_grad_()
    copy = guarded(values)
    assert torch.equal(copy, values)
    assert copy.is_contiguous()
    assert not copy.requires_grad


@pytest.mark.parametrize("shape", [(0,), (2, 0), ()])
def test_empty_and_zero_dimensional(shape: tuple[int, ...]) -> None:
    assert guarded(torch.ones(shape)).shape == shape


def forbidden_starts() -> set[int]:
    """Where memory begins that this process may not touch."""
    gc.collect()
    rows = Path("/proc/self/maps").read_text().splitlines()
    spans = (row.split()[:2] for row in rows)
    return {
        int(addresses.partition("-")[0], 16)
        for addresses, permissions in spans
        if permissions.startswith("---")
    }


def test_memory_lives_as_long_as_a_view_and_no_longer() -> None:
    copies = [guarded(torch.arange(9.0)) for _ in range(5)]
    ends = {copy.data_ptr() + copy.nbytes for copy in copies}
    view, end = copies[0][3:], copies[0].data_ptr() + copies[0].nbytes
    assert forbidden_starts() & ends == ends
    del copies
    assert forbidden_starts() & ends == {end}
    assert view.tolist() == [3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    del view
    assert forbidden_starts() & ends == set()


def test_a_tensor_elsewhere_is_refused() -> None:
    with pytest.raises(ValueError, match="CPU tensor, got one on meta"):
        guarded(torch.empty(3, device="meta"))
