"""What a watched kernel does is told exactly, and a right one is silent."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.runtime.interpreter import GridExecutor, InterpreterBuilder
from triton.tools.tensor_descriptor import TensorDescriptor

from triton_grad.device import INTERPRETED
from triton_grad.ops.gelu import gelu
from triton_grad.testing.sightings import Fault, Launch, TensorUse, Watch
from triton_grad.testing.watch import watch

pytestmark = pytest.mark.skipif(
    not INTERPRETED, reason="only the interpreter can be watched"
)

BLOCK = 8
THIS_FILE = str(Path(__file__))


@triton.jit
def add_one_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(y_ptr + offsets, x + 1, mask=mask)


@triton.jit
def no_mask_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)  # load
    tl.store(y_ptr + offsets, x + 1)  # store


@triton.jit
def one_too_many_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets <= n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)  # load
    tl.store(y_ptr + offsets, x + 1, mask=mask)  # store


@triton.jit
def before_the_start_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets - 3, mask=mask)  # load
    tl.store(y_ptr + offsets, x, mask=mask)


@triton.jit
def load_helper(pointer, offsets):
    return tl.load(pointer + offsets)  # helper


@triton.jit
def by_helper_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = load_helper(x_ptr, offsets)
    tl.store(y_ptr + offsets, x, mask=offsets < n)


@triton.jit
def atomic_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.atomic_add(y_ptr + offsets, 1.0)  # atomic


@triton.jit
def lock_outside_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    while tl.atomic_cas(y_ptr + n, 0, 1) == 1:  # atomic
        pass


@triton.jit
def strided_kernel(
    x_ptr, y_ptr, rows, cols, x_row, x_col, y_row, BLOCK: tl.constexpr
):
    row = tl.program_id(0)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = col < cols
    x = tl.load(x_ptr + row * x_row + col * x_col, mask=mask, other=0.0)
    tl.store(y_ptr + row * y_row + col, x, mask=mask)


Kernel = Any


def untyped(kernel: Kernel) -> Any:
    """A kernel whose constants are given as numbers, whatever their type."""
    return kernel


def watched(
    kernel: Kernel,
    x: Tensor,
    y: Tensor,
    programs: int | None = None,
    **options: Any,
) -> Watch:
    """Run a kernel over x into y, watched."""
    n = y.numel()
    grid = (triton.cdiv(n, BLOCK) if programs is None else programs,)
    with watch(**options) as seen:
        kernel[grid](x, y, n, BLOCK=BLOCK)
    return seen


def line_of(kernel: Kernel, mark: str) -> int:
    """The line of a kernel that ends in a comment."""
    lines, start = inspect.getsourcelines(kernel.fn)
    (found,) = (
        start + place
        for place, line in enumerate(lines)
        if line.rstrip().endswith(f"# {mark}")
    )
    return found


def told(fault: Fault) -> tuple[Any, ...]:
    """What has to be right about a fault, but for its line."""
    assert fault.site.file == THIS_FILE
    return (
        fault.parameter,
        fault.access,
        (fault.least, fault.most),
        fault.lanes,
        fault.program,
    )


def use_of(launch: Launch, parameter: str) -> TensorUse:
    """What a launch did with one of its tensors."""
    (use,) = (it for it in launch.tensors if it.parameter == parameter)
    return use


# A right kernel.


@pytest.mark.parametrize("n", [1, 7, 8, 9, 100])
def test_a_right_kernel_is_silent(n: int) -> None:
    x, y = torch.randn(n), torch.empty(n)
    seen = watched(add_one_kernel, x, y, huge=True, programs=13)
    assert torch.equal(y, x + 1)
    assert seen.possible
    assert not seen.faults
    assert not seen.gap_loads
    assert not seen.undefined_loads
    assert not seen.races
    assert not seen.autotuned


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int8])
def test_a_right_kernel_of_another_dtype(dtype: torch.dtype) -> None:
    x = torch.arange(20).to(dtype)
    y = torch.empty_like(x)
    seen = watched(add_one_kernel, x, y)
    assert torch.equal(y, x + 1)
    assert not seen.faults


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_librarys_own_op_is_silent(dtype: torch.dtype) -> None:
    x = torch.randn(5, 300).to(dtype).requires_grad_()
    expected = gelu(x)
    with watch(huge=True) as seen:
        y = gelu(x)
        y.sum().backward()
    assert torch.equal(y, expected)
    assert [launch.kernel for launch in seen.launches] == [
        "accurate_gelu_forward_kernel",
        "accurate_gelu_backward_kernel",
    ]
    assert not seen.faults
    assert not seen.gap_loads
    assert not seen.races
    assert not seen.wraps


@triton.jit
def loop_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    for start in range(0, n, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
        tl.store(y_ptr + offsets, x, mask=mask)


def test_a_right_loop_is_silent() -> None:
    x, y = torch.randn(20), torch.empty(20)
    seen = watched(loop_kernel, x, y, programs=1)
    assert torch.equal(y, x)
    assert not seen.faults


# Bounds.


def test_no_mask_is_told_as_which_tensor_how_far_load_or_store() -> None:
    x, y = torch.randn(20), torch.zeros(20)
    seen = watched(no_mask_kernel, x, y)
    load, store = seen.faults
    assert told(load) == ("x_ptr", "load", (1, 4), 4, (2, 0, 0))
    assert told(store) == ("y_ptr", "store", (1, 4), 4, (2, 0, 0))
    assert load.site.line == line_of(no_mask_kernel, "load")
    assert store.site.line == line_of(no_mask_kernel, "store")
    assert load.site.text == "x = tl.load(x_ptr + offsets)  # load"
    assert load.kernel == "no_mask_kernel"
    assert load.tensor == "float32(20,)"
    assert (load.storage_least, load.storage_most) == (1, 4)
    assert torch.equal(y, x + 1)


def test_faults_of_one_line_are_merged_over_programs() -> None:
    seen = watched(no_mask_kernel, torch.ones(5), torch.ones(5), programs=3)
    load, store = seen.faults
    assert told(load) == ("x_ptr", "load", (1, 19), 19, (0, 0, 0))
    assert told(store) == ("y_ptr", "store", (1, 19), 19, (0, 0, 0))


def test_a_mask_one_too_many() -> None:
    seen = watched(one_too_many_kernel, torch.ones(12), torch.ones(12))
    load, store = seen.faults
    assert told(load) == ("x_ptr", "load", (1, 1), 1, (1, 0, 0))
    assert told(store) == ("y_ptr", "store", (1, 1), 1, (1, 0, 0))


def test_before_the_start() -> None:
    x, y = torch.arange(10.0), torch.zeros(10)
    seen = watched(before_the_start_kernel, x, y)
    (load,) = seen.faults
    assert told(load) == ("x_ptr", "load", (-3, -1), 3, (0, 0, 0))
    assert load.site.line == line_of(before_the_start_kernel, "load")
    assert y[:3].isnan().all()
    assert torch.equal(y[3:], x[:7])


def test_the_line_is_that_of_the_function_that_loads() -> None:
    seen = watched(by_helper_kernel, torch.ones(6), torch.ones(6))
    (load,) = seen.faults
    assert told(load) == ("x_ptr", "load", (1, 2), 2, (0, 0, 0))
    assert load.site.line == line_of(load_helper, "helper")


def test_an_atomic_outside() -> None:
    y = torch.zeros(5)
    (fault,) = watched(atomic_kernel, y, y).faults
    assert told(fault) == ("y_ptr", "atomic", (1, 3), 3, (0, 0, 0))
    assert torch.equal(y, torch.ones(5))


def test_a_lock_outside_does_not_hang() -> None:
    y = torch.zeros(5, dtype=torch.int32)
    (fault,) = watched(lock_outside_kernel, y, y).faults
    assert told(fault) == ("y_ptr", "atomic", (1, 1), 1, (0, 0, 0))


def test_an_integer_load_outside_is_a_large_number() -> None:
    x, y = torch.arange(4), torch.zeros(8, dtype=torch.int64)
    watched(no_mask_kernel, x, y)
    assert torch.equal(y[:4], x + 1)
    assert bool((y[4:] > 2**61).all())


def test_a_huge_offset_is_still_told_by_its_tensor() -> None:
    x, y = torch.ones(8), torch.ones(8)
    seen = watched(far_away_kernel, x, y)
    assert [(it.parameter, it.least) for it in seen.faults] == [
        ("x_ptr", 2**40 - 7),
        ("y_ptr", -(2**40)),
    ]


@triton.jit
def far_away_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    far = tl.full((1,), 1099511627776, tl.int64)
    x = tl.load(x_ptr + far)
    tl.store(y_ptr - far, x)


def test_the_memory_behind_is_left_alone() -> None:
    storage = torch.zeros(24)
    x = torch.ones(20)
    y = torch.empty(0).set_(storage.untyped_storage(), 0, (20,), (1,))
    seen = watched(no_mask_kernel, x, y)
    store = seen.faults[1]
    assert told(store) == ("y_ptr", "store", (1, 4), 4, (2, 0, 0))
    # Within the storage a store is done, as it would be unwatched.
    assert (store.storage_least, store.storage_most) == (0, 0)
    assert storage[20:].isnan().sum() == 4


@pytest.mark.parametrize("shape", [(0,), (4, 0)])
def test_an_empty_tensor(shape: tuple[int, ...]) -> None:
    x, y = torch.empty(shape), torch.empty(shape)
    seen = watched(no_mask_kernel, x, y, programs=1)
    load, store = seen.faults
    assert told(load) == ("x_ptr", "load", (1, 8), 8, (0, 0, 0))
    assert told(store) == ("y_ptr", "store", (1, 8), 8, (0, 0, 0))


# Views.


def test_a_load_in_a_views_gaps_is_no_fault_but_told() -> None:
    x, y = torch.arange(24.0)[::2], torch.zeros(12)
    seen = watched(add_one_kernel, x, y)
    assert not seen.faults
    (load,) = seen.gap_loads
    # Elements 1, 3, ... 11 of the storage.
    assert told(load) == ("x_ptr", "load", (0, 0), 6, (0, 0, 0))
    use = use_of(seen.launches[0], "x_ptr")
    assert use.loaded.tolist() == [True] * 12 + [False] * 12
    assert use.view.tolist() == [True, False] * 12
    assert use.loaded_elements().tolist() == [True] * 6 + [False] * 6


def test_a_store_in_a_views_gaps_is_a_fault() -> None:
    storage = torch.zeros(24)
    seen = watched(add_one_kernel, torch.ones(12), storage[::2])
    (store,) = seen.faults
    assert told(store) == ("y_ptr", "store", (0, 0), 6, (0, 0, 0))
    assert torch.equal(storage[:12], torch.full((12,), 2.0))


def test_a_row_of_a_matrix_ends_where_the_row_ends() -> None:
    matrix = torch.zeros(3, 10)
    seen = watched(no_mask_kernel, matrix[1], torch.empty(10))
    (gap,) = seen.gap_loads
    assert told(gap) == ("x_ptr", "load", (1, 6), 6, (1, 0, 0))
    assert gap.storage_most == 0


def test_two_views_of_one_storage_are_told_apart() -> None:
    both = torch.zeros(20)
    seen = watched(no_mask_kernel, both[:10], both[10:])
    assert [told(it) for it in seen.gap_loads] == [
        ("x_ptr", "load", (1, 6), 6, (1, 0, 0)),
    ]
    assert [told(it) for it in seen.faults] == [
        ("y_ptr", "store", (1, 6), 6, (1, 0, 0)),
    ]


def test_a_tensor_given_twice_is_one_memory() -> None:
    x = torch.arange(12.0)
    seen = watched(add_one_kernel, x, x)
    assert torch.equal(x, torch.arange(12.0) + 1)
    assert not seen.faults
    assert not seen.races


@pytest.mark.parametrize("rows", [1, 5])
def test_a_right_strided_kernel_in_two_dimensions(rows: int) -> None:
    x, y = torch.randn(20, rows).t(), torch.empty(rows, 20)
    with watch() as seen:
        untyped(strided_kernel)[(rows, 3)](
            *(x, y, rows, 20, *x.stride(), y.stride(0)), BLOCK=BLOCK
        )
    assert torch.equal(x, y)
    assert not seen.faults
    assert not seen.gap_loads
    assert seen.launches[0].grid == (rows, 3, 1)


def test_another_tensors_strides() -> None:
    x, y = torch.randn(4, 30)[:, :20], torch.empty(4, 20)
    with watch() as seen:
        untyped(strided_kernel)[(4, 3)](x, y, 4, 20, 30, 1, 30, BLOCK=BLOCK)
    (store,) = seen.faults
    # Row 3 is stored to 90..109, and there are 80.
    assert told(store) == ("y_ptr", "store", (11, 30), 20, (3, 0, 0))


# Undefined lanes.


@triton.jit
def sum_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)  # load
    tl.store(y_ptr, tl.sum(x, axis=0))
    tl.store(y_ptr + 1, tl.max(x, axis=0))


def sum_of_five(**options: Any) -> tuple[Tensor, Watch]:
    x, y = -torch.ones(5), torch.zeros(2)
    with watch(**options) as seen:
        untyped(sum_kernel)[(1,)](x, y, 5, BLOCK=BLOCK)
    return y, seen


def test_undefined_lanes_spoil_a_sum_and_a_maximum() -> None:
    y, seen = sum_of_five()
    assert y[0].isnan()
    assert y[1].isinf()
    (load,) = seen.undefined_loads
    assert (load.kernel, load.parameter, load.lanes) == (
        "sum_kernel",
        "x_ptr",
        3,
    )
    assert load.site.line == line_of(sum_kernel, "load")


def test_undefined_lanes_can_be_zero_as_the_interpreter_has_them() -> None:
    y, seen = sum_of_five(undefined="zero")
    assert torch.equal(y, torch.tensor([-5.0, 0.0]))
    assert len(seen.undefined_loads) == 1


def test_undefined_lanes_that_reach_no_result_do_no_harm() -> None:
    x, y = torch.arange(10.0), torch.zeros(10)
    seen = watched(undefined_but_unused_kernel, x, y)
    assert torch.equal(y, x)
    assert seen.undefined_loads[0].lanes == 6


@triton.jit
def undefined_but_unused_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float64, torch.int16]
)
def test_undefined_lanes_of_other_dtypes(dtype: torch.dtype) -> None:
    x, y = torch.ones(5, dtype=dtype), torch.zeros(8, dtype=dtype)
    with watch():
        untyped(copy_block_kernel)[(1,)](x, y, 5, BLOCK=BLOCK)
    assert torch.equal(y[:5], x)
    if dtype.is_floating_point:
        assert not y[5:].isfinite().any()
    else:
        assert bool((y[5:] > 10_000).all())


@triton.jit
def copy_block_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n))


# What was touched.


def test_what_is_never_stored_and_never_loaded() -> None:
    x, y = torch.ones(20), torch.zeros(20)
    seen = watched(add_one_kernel, x, y, programs=2)
    (launch,) = seen.launches
    assert launch.kernel == "add_one_kernel"
    assert launch.grid == (2, 1, 1)
    assert not launch.trial
    stored = use_of(launch, "y_ptr")
    assert stored.stored_elements().nonzero()[0].tolist() == list(range(16))
    assert stored.is_stored
    assert not stored.is_loaded
    loaded = use_of(launch, "x_ptr")
    assert loaded.is_loaded
    assert not loaded.is_stored
    assert (loaded.shape, loaded.strides, loaded.offset) == ((20,), (1,), 0)
    assert (loaded.dtype, loaded.storage_size) == ("torch.float32", 20)


def test_an_atomic_loads_and_stores() -> None:
    y = torch.zeros(8)
    with watch() as seen:
        untyped(atomic_kernel)[(1,)](torch.ones(1), y, 8, BLOCK=BLOCK)
    use = use_of(seen.launches[0], "y_ptr")
    assert use.loaded.all()
    assert use.stored.all()
    assert not use_of(seen.launches[0], "x_ptr").is_loaded


def test_a_launch_is_recorded_when_the_kernel_raises() -> None:
    y = torch.zeros(8)
    with watch() as seen, pytest.raises(Exception, match="too much"):
        untyped(raising_kernel)[(1,)](y, y, 8, BLOCK=BLOCK)
    assert use_of(seen.launches[0], "y_ptr").is_stored
    assert torch.equal(y, torch.ones(8))


@triton.jit
def raising_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    tl.store(y_ptr + tl.arange(0, BLOCK), 1.0)
    tl.static_assert(n < 0, "too much")


# Races.


@triton.jit
def bias_race_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + offsets)
    y = tl.load(y_ptr + offsets)  # load
    tl.store(y_ptr + offsets, y + x)  # store


@triton.jit
def bias_atomic_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + offsets)
    tl.atomic_add(y_ptr + offsets, x)


@triton.jit
def same_value_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    tl.store(y_ptr + tl.arange(0, BLOCK), 3.0)


@triton.jit
def last_one_wins_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    value = tl.program_id(0).to(tl.float32)
    tl.store(y_ptr + tl.arange(0, BLOCK), value)  # store


@triton.jit
def neighbour_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets + 1, mask=offsets + 1 < n, other=0.0)  # load
    tl.store(x_ptr + offsets, x)  # store


def test_load_add_store_is_a_race() -> None:
    x, y = torch.ones(24), torch.zeros(8)
    with watch() as seen:
        untyped(bias_race_kernel)[(3,)](x, y, 8, BLOCK=BLOCK)
    pairs = {
        (race.other_access, race.access): (race.other_site, race.site)
        for race in seen.races
    }
    assert set(pairs) == {
        ("store", "load"),
        ("store", "store"),
        ("load", "store"),
    }
    store, load = pairs["store", "load"]
    assert load.line == line_of(bias_race_kernel, "load")
    assert store.line == line_of(bias_race_kernel, "store")
    first = seen.races[0]
    assert (first.parameter, first.element) == ("y_ptr", 0)
    assert (first.other_program, first.program) == ((0, 0, 0), (1, 0, 0))
    assert first.elements == 16
    assert torch.equal(y, torch.full((8,), 3.0))


@pytest.mark.parametrize(
    "kernel",
    [bias_atomic_kernel, same_value_kernel],
    ids=lambda k: k.__name__,
)
def test_no_race(kernel: Kernel) -> None:
    x, y = torch.ones(24), torch.zeros(8)
    with watch() as seen:
        kernel[(3,)](x, y, 8, BLOCK=BLOCK)
    assert not seen.races


def test_one_program_is_no_race() -> None:
    with watch() as seen:
        for _ in range(3):
            untyped(bias_race_kernel)[(1,)](
                torch.ones(8), torch.zeros(8), 8, BLOCK=BLOCK
            )
    assert not seen.races


def test_two_values_in_one_place_are_a_race() -> None:
    seen = watched(last_one_wins_kernel, torch.ones(1), torch.zeros(8), 2)
    (race,) = seen.races
    assert (race.other_access, race.access) == ("store", "store")
    assert race.site.line == line_of(last_one_wins_kernel, "store")


def test_a_store_after_anothers_load_is_a_race() -> None:
    x = torch.arange(16.0)
    seen = watched(neighbour_kernel, x, x)
    (race,) = seen.races
    assert (race.other_access, race.access) == ("load", "store")
    assert (race.parameter, race.element, race.elements) == ("x_ptr", 8, 1)


def test_a_race_by_two_views_of_one_storage() -> None:
    storage = torch.arange(17.0)
    seen = watched(add_one_kernel, storage[1:], storage[:16])
    (race,) = seen.races
    assert (race.other_access, race.access) == ("load", "store")
    assert (race.parameter, race.element) == ("y_ptr", 8)


@triton.jit
def locked_sum_kernel(x_ptr, y_ptr, lock_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + offsets)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(y_ptr + offsets, tl.load(y_ptr + offsets) + x)
    tl.atomic_xchg(lock_ptr, 0)


@triton.jit
def last_block_sums_kernel(x_ptr, y_ptr, lock_ptr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * BLOCK + tl.arange(0, BLOCK))
    tl.store(y_ptr + 1 + row, tl.sum(x, axis=0))
    if tl.atomic_add(lock_ptr, 1) == 2:
        for other in range(3):
            total = tl.load(y_ptr) + tl.load(y_ptr + 1 + other)
            tl.store(y_ptr, total)


@triton.jit
def counted_too_early_kernel(x_ptr, y_ptr, lock_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + offsets)
    tl.atomic_add(lock_ptr, 1)
    tl.store(y_ptr + offsets, tl.load(y_ptr + offsets) + x)


@pytest.mark.parametrize(
    ("kernel", "races"),
    [
        (locked_sum_kernel, False),
        (last_block_sums_kernel, False),
        (counted_too_early_kernel, True),
    ],
    ids=["lock", "counter", "counted too early"],
)
def test_atomics_put_accesses_in_order(kernel: Kernel, races: bool) -> None:
    lock = torch.zeros(1, dtype=torch.int32)
    with watch() as seen:
        kernel[(3,)](torch.ones(24), torch.zeros(8), lock, BLOCK=BLOCK)
    assert bool(seen.races) is races


# 32-bit offsets.


@triton.jit
def wide_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * BLOCK
    offsets = start + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)


@triton.jit
def pointer_per_row_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * n + tl.arange(0, BLOCK))  # load
    tl.store(y_ptr + row, tl.sum(x, axis=0))


@triton.jit
def widened_too_late_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    start = (tl.program_id(0) * BLOCK).to(tl.int64)
    offsets = start + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(y_ptr + offsets, 1.0, mask=mask)  # store


@triton.jit
def swizzled_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) % 4 * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, 1.0, mask=offsets < n)


@triton.jit
def hashed_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    slot = tl.program_id(0) * 40503 % 7
    tl.store(y_ptr + slot, 1.0)


@triton.jit
def rows_and_blocks_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0) // 2
    block = tl.program_id(0) % 2
    offsets = block * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + row * n + offsets, 1.0, mask=offsets < n)  # store


@triton.jit
def endless_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    block = 0
    while block <= tl.program_id(0):
        print("a line")
        block += 1
        tl.store(y_ptr + tl.arange(0, BLOCK), 1.0 * block)


def test_a_32_bit_offset_that_would_wrap() -> None:
    x, y = torch.ones(20), torch.zeros(20)
    seen = watched(add_one_kernel, x, y, huge=True)
    load, store = seen.wraps
    assert (load.parameter, store.parameter) == ("x_ptr", "y_ptr")
    assert (load.axis, load.program, load.programs) == (0, 2**28, 3)
    assert (load.meant, load.addressed) == (2**31, -(2**31))
    assert torch.equal(y, x + 1)
    assert len(seen.launches) == 1


def test_the_first_program_that_wraps_differs_from_line_to_line() -> None:
    x, y = torch.ones(3, 8), torch.zeros(3)
    with watch(huge=True) as seen:
        untyped(pointer_per_row_kernel)[(3,)](x, y, 8, BLOCK=BLOCK)
    # `y_ptr + row` is right for every row there can be.
    (wrap,) = seen.wraps
    assert wrap.parameter == "x_ptr"
    assert wrap.site.line == line_of(pointer_per_row_kernel, "load")
    assert (wrap.program, wrap.meant) == (2**28, 2**31)


@pytest.mark.parametrize(
    ("kernel", "wraps"),
    [
        (wide_kernel, 0),
        (widened_too_late_kernel, 1),
        (swizzled_kernel, 0),
        (hashed_kernel, 0),
        (rows_and_blocks_kernel, 1),
    ],
    ids=lambda it: getattr(it, "__name__", None),
)
def test_which_kernels_wrap(kernel: Kernel, wraps: int) -> None:
    seen = watched(
        kernel, torch.ones(16), torch.zeros(16), programs=4, huge=True
    )
    assert len(seen.wraps) == wraps


def test_one_program_or_no_wish_and_nothing_is_run_again() -> None:
    x, y = torch.ones(20), torch.zeros(20)
    assert not watched(add_one_kernel, x, y).wraps
    assert not watched(add_one_kernel, x, y, programs=1, huge=True).wraps


def test_a_dry_run_ends_and_says_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    y = torch.zeros(8)
    watched(endless_kernel, y, y, programs=2, huge=True)
    assert capsys.readouterr().out == "a line\n" * 3
    assert y[0] == 2.0


# bfloat16.


@triton.jit
def arithmetic_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=1.0)
    y = tl.where(x > 0, x * x + x, -x / 2.0)
    tl.store(y_ptr + offsets, y, mask=offsets < n)


@triton.jit
def to_bfloat16_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(y_ptr + offsets, x, mask=offsets < n)


# Two are as near to one bfloat16 as to the next.
TIES = [1 + 1 / 256, 1 + 3 / 256]
SPECIAL = [0.0, -0.0, 1 + 3 / 512, torch.inf, -torch.inf, torch.nan, 3.4e38]
# Rounded up, its digits would run over into the sign.
ALL_ONES = torch.tensor([2**31 - 1], dtype=torch.int32).view(torch.float32)


def test_float32_is_rounded_to_the_nearest_bfloat16() -> None:
    x = torch.cat(
        (
            torch.randn(500),
            torch.tensor(TIES + SPECIAL),
            ALL_ONES,
            1e-39 * torch.randn(99),
        )
    )
    y = torch.empty_like(x, dtype=torch.bfloat16)
    watched(to_bfloat16_kernel, x, y)
    assert torch.equal(
        y.view(torch.int16)[~x.isnan()],
        x.bfloat16().view(torch.int16)[~x.isnan()],
    )
    assert y[x.isnan()].isnan().all()


def test_every_bfloat16_is_read_rightly() -> None:
    bits = torch.arange(0, 2**16, 7).to(torch.int16)
    x = bits.view(torch.bfloat16)
    y = torch.empty_like(x, dtype=torch.float32)
    with watch():
        untyped(to_bfloat16_kernel)[(10,)](x, y, x.numel(), BLOCK=1024)
    assert torch.equal(y.view(torch.int32), x.float().view(torch.int32))


def test_bfloat16_arithmetic_is_that_of_its_values() -> None:
    x = torch.tensor([-3.0, -1.0, 0.5, 1.0, 1.5, 2.0, 3.0, 7.0]).bfloat16()
    y = torch.empty_like(x)
    watched(arithmetic_kernel, x, y)
    assert torch.equal(y, torch.where(x > 0, x * x + x, -x / 2.0))


@triton.jit
def reduce_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    tl.store(y_ptr, tl.sum(x, axis=0))
    tl.store(y_ptr + 1, tl.max(x, axis=0))
    tl.store(y_ptr + 2 + tl.arange(0, BLOCK), tl.cumsum(x, axis=0))


def test_bfloat16_is_reduced_by_its_values() -> None:
    x = torch.arange(-3.0, 5.0).bfloat16()
    y = torch.empty(10).bfloat16()
    watched(reduce_kernel, x, y)
    assert y[0] == x.sum()
    assert y[1] == 4.0
    assert torch.equal(y[2:], x.cumsum(0))


def test_a_dot_of_bfloat16() -> None:
    a = torch.randn(16, 16).bfloat16()
    out = torch.empty(16, 16)
    with watch() as seen:
        untyped(dot_kernel)[(1,)](a, out, BLOCK=16)
    assert not seen.faults
    assert torch.allclose(out, a.float() @ a.float(), rtol=1e-5, atol=1e-5)


@triton.jit
def dot_kernel(a_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    places = i[:, None] * BLOCK + i[None, :]
    a = tl.load(a_ptr + places)
    tl.store(out_ptr + places, tl.dot(a, a, input_precision="ieee"))


# Autotune and heuristics.

CONFIGS = [triton.Config({"BLOCK": 8}), triton.Config({"BLOCK": 16})]


@triton.jit
def accumulate_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.atomic_add(y_ptr + offsets, x, mask=mask)


spoiled_kernel = triton.autotune(CONFIGS, key=["n"])(accumulate_kernel)
reset_kernel = triton.autotune(CONFIGS, key=["n"], reset_to_zero=["y_ptr"])(
    accumulate_kernel
)
restored_kernel = triton.autotune(
    CONFIGS, key=["n"], restore_value=["y_ptr"]
)(accumulate_kernel)
one_config_kernel = triton.autotune(CONFIGS[:1], key=["n"])(accumulate_kernel)
heuristic_kernel = triton.heuristics({"BLOCK": lambda args: 8})(
    accumulate_kernel
)


def accumulate(kernel: Kernel, **options: Any) -> tuple[float, Watch]:
    """Add ones to zeros by a kernel, and return what became of it."""
    y = torch.zeros(20)
    with watch(**options) as seen:
        kernel[lambda args: (triton.cdiv(20, args["BLOCK"]),)](
            torch.ones(20), y, 20
        )
    assert (y == y[0]).all()
    return y[0].item(), seen


def test_autotunes_trials_are_run_as_on_a_gpu() -> None:
    total, seen = accumulate(spoiled_kernel)
    # Two configs twice each, and the launch.
    assert total == 5.0
    assert [it.trial for it in seen.launches] == [True] * 4 + [False]
    assert [it.grid[0] for it in seen.launches] == [3, 3, 2, 2, 3]
    (autotuned,) = seen.autotuned
    assert (autotuned.kernel, autotuned.configs) == ("accumulate_kernel", 2)
    # Every watch sees a first launch.
    assert accumulate(spoiled_kernel)[0] == 5.0


def test_without_trials_the_first_config_runs_once() -> None:
    total, seen = accumulate(spoiled_kernel, autotune="first")
    assert total == 1.0
    assert [it.grid[0] for it in seen.launches] == [3]
    assert seen.autotuned[0].configs == 2


def test_the_second_launch_is_not_tried() -> None:
    y = torch.zeros(20)
    with watch() as seen:
        for _ in range(2):
            spoiled_kernel[(3,)](torch.ones(20), y, 20)
    assert len(seen.launches) == 6
    assert len(seen.autotuned) == 1


@pytest.mark.parametrize(
    "kernel", [reset_kernel, restored_kernel], ids=["reset", "restore"]
)
def test_trials_that_are_undone(kernel: Kernel) -> None:
    total, seen = accumulate(kernel)
    assert total == 1.0
    assert len(seen.launches) == 5


@pytest.mark.parametrize(
    "kernel", [one_config_kernel, heuristic_kernel], ids=["one", "heuristic"]
)
def test_nothing_to_try(kernel: Kernel) -> None:
    total, seen = accumulate(kernel)
    assert total == 1.0
    assert len(seen.launches) == 1
    assert not seen.autotuned


# Any kernel: the same bits as unwatched.


@triton.jit
def tuple_kernel(xs, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    total = tl.load(xs[0] + offsets) - tl.load(xs[1] + offsets)
    tl.store(y_ptr + offsets, total)


@triton.jit
def pointers_kernel(addresses_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    address = tl.load(addresses_ptr + tl.program_id(0))
    x_ptr = address.to(tl.pointer_type(tl.float32))
    x = tl.load(x_ptr + offsets)
    tl.store(y_ptr + tl.program_id(0) * BLOCK + offsets, x)


@triton.jit
def descriptor_kernel(desc, y_ptr, n, BLOCK: tl.constexpr):
    x = desc.load([0, 0])
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i[:, None] * BLOCK + i[None, :], x)


def softmax_case() -> tuple[Tensor, Callable[[], object]]:
    x, y = torch.randn(3, 6), torch.empty(3, 6)
    return y, lambda: untyped(softmax_kernel)[(3,)](
        x, y, 6, n_cols=6, BLOCK=8
    )


@triton.jit
def softmax_kernel(x_ptr, y_ptr, stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * stride + cols, mask=mask, other=-float("inf"))
    z = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * stride + cols, z / tl.sum(z, axis=0), mask=mask)


def tuple_case() -> tuple[Tensor, Callable[[], object]]:
    xs, y = (torch.randn(8), torch.randn(8)), torch.empty(8)
    return y, lambda: untyped(tuple_kernel)[(1,)](xs, y, n=8, BLOCK=8)


def pointers_case() -> tuple[Tensor, Callable[[], object]]:
    xs, y = [torch.randn(8), torch.randn(8)], torch.empty(16)
    table = torch.tensor([x.data_ptr() for x in xs])
    return y, lambda: (
        untyped(pointers_kernel)[(2,)](table, y, 8, BLOCK=8),
        xs,
    )


def descriptor_case() -> tuple[Tensor, Callable[[], object]]:
    x, y = torch.randn(5, 8), torch.empty(8, 8)
    desc = TensorDescriptor(x, [5, 8], [8, 1], [8, 8])
    return y, lambda: untyped(descriptor_kernel)[(1,)](desc, y, 8, BLOCK=8)


block_pointers_warn = pytest.mark.filterwarnings(
    "ignore:tl.make_block_ptr is deprecated"
)
with_block_pointers = pytest.mark.skipif(
    not hasattr(InterpreterBuilder, "create_make_block_ptr"),
    reason="triton 3.9 has no block pointers",
)


@triton.jit
def block_pointer_kernel(x_ptr, y_ptr, rows, cols, BLOCK: tl.constexpr):
    x_block = tl.make_block_ptr(
        base=x_ptr,
        shape=(rows, cols),
        strides=(cols, 1),
        offsets=(0, tl.program_id(0) * BLOCK),
        block_shape=(BLOCK, BLOCK),
        order=(1, 0),
    )
    y_block = tl.make_block_ptr(
        base=y_ptr,
        shape=(rows, cols),
        strides=(cols, 1),
        offsets=(0, tl.program_id(0) * BLOCK),
        block_shape=(BLOCK, BLOCK),
        order=(1, 0),
    )
    x = tl.load(x_block, boundary_check=(0, 1), padding_option="zero")
    tl.store(y_block, x, boundary_check=(0, 1))


def block_pointer_case() -> tuple[Tensor, Callable[[], object]]:
    x, y = torch.randn(5, 12), torch.empty(5, 12)
    return y, lambda: untyped(block_pointer_kernel)[(2,)](
        x, y, 5, 12, BLOCK=8
    )


@with_block_pointers
@block_pointers_warn
def test_a_block_pointer_without_a_boundary_check() -> None:
    x, y = torch.randn(5, 8), torch.empty(8, 8)
    with watch() as seen:
        untyped(block_unchecked_kernel)[(1,)](x, y, 5, BLOCK=8)
    (fault,) = seen.faults
    assert told(fault) == ("x_ptr", "load", (1, 24), 24, (0, 0, 0))
    assert fault.site.line == line_of(block_unchecked_kernel, "load")


@triton.jit
def block_unchecked_kernel(x_ptr, y_ptr, rows, BLOCK: tl.constexpr):
    x_block = tl.make_block_ptr(
        base=x_ptr,
        shape=(rows, BLOCK),
        strides=(BLOCK, 1),
        offsets=(0, 0),
        block_shape=(BLOCK, BLOCK),
        order=(1, 0),
    )
    x = tl.load(x_block)  # load
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i[:, None] * BLOCK + i[None, :], x)


def reinterpreted_case() -> tuple[Tensor, Callable[[], object]]:
    x, y = torch.randn(16), torch.empty(16)
    bits = (triton.reinterpret(x, tl.int32), triton.reinterpret(y, tl.int32))
    return y, lambda: untyped(undefined_but_unused_kernel)[(2,)](
        *bits, 16, BLOCK=8
    )


@pytest.mark.parametrize(
    "case",
    [
        softmax_case,
        tuple_case,
        pointers_case,
        descriptor_case,
        pytest.param(
            block_pointer_case,
            marks=(with_block_pointers, block_pointers_warn),
        ),
        reinterpreted_case,
    ],
    ids=lambda case: case.__name__,
)
def test_the_same_bits_as_unwatched(
    case: Callable[[], tuple[Tensor, Callable[[], object]]],
) -> None:
    torch.manual_seed(0)
    y, launch = case()
    launch()
    expected = y.clone()
    y.zero_()
    with watch() as seen:
        launch()
    assert torch.equal(y, expected)
    assert not seen.faults
    assert not seen.gap_loads
    assert not seen.races


def test_the_names_of_tensors_in_tuples_and_descriptors() -> None:
    with watch() as seen:
        tuple_case()[1]()
        descriptor_case()[1]()
    names = [
        [use.parameter for use in launch.tensors] for launch in seen.launches
    ]
    assert names == [["xs[0]", "xs[1]", "y_ptr"], ["desc", "y_ptr"]]


def test_a_fault_in_a_tuple() -> None:
    xs = (torch.ones(8), torch.ones(6))
    with watch() as seen:
        untyped(tuple_kernel)[(1,)](xs, torch.empty(8), 8, BLOCK=8)
    (fault,) = seen.faults
    assert told(fault) == ("xs[1]", "load", (1, 2), 2, (0, 0, 0))


# The watch itself.


def test_all_is_as_it_was_afterwards() -> None:
    before = dict(vars(InterpreterBuilder)), dict(vars(GridExecutor))
    with pytest.raises(ZeroDivisionError), watch():
        raise ZeroDivisionError
    assert (
        dict(vars(InterpreterBuilder)),
        dict(vars(GridExecutor)),
    ) == before


def test_it_is_not_opened_twice() -> None:
    with watch(), pytest.raises(RuntimeError, match="open already"), watch():
        pass


def test_a_name_that_is_gone_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(InterpreterBuilder, "create_atomic_cas")
    before = dict(vars(InterpreterBuilder))
    with (
        pytest.raises(
            RuntimeError,
            match=r"needs InterpreterBuilder\.create_atomic_cas, which",
        ),
        watch(),
    ):
        pass
    assert dict(vars(InterpreterBuilder)) == before
