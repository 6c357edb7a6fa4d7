"""What a launch does to its inputs before a kernel sees them."""

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.runtime.jit import JITFunction

from triton_grad import launch
from triton_grad.device import DEVICE
from triton_grad.launch import (
    check_block,
    check_device,
    check_inputs,
    empty_result,
    in_order_of,
    launch_elementwise,
)
from triton_grad.ops.square import square_backward_kernel
from triton_grad.testing.layouts import LAYOUT_VALUES, LAYOUTS

Draw = Callable[..., Tensor]

# Every element of memory belongs to one element of the tensor.
DENSE = ("contiguous", "offset", "channels last", "transposed", "permuted")
OTHERS = tuple(name for name in LAYOUTS if name not in DENSE)


@triton.jit
def multiply_add_kernel(
    a_ptr, b_ptr, c_ptr, output_ptr, n, BLOCK: tl.constexpr
):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    a = tl.load(a_ptr + offsets, mask=mask)
    b = tl.load(b_ptr + offsets, mask=mask)
    c = tl.load(c_ptr + offsets, mask=mask)
    tl.store(output_ptr + offsets, a * b + c, mask=mask)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """What the last kernel was given: inputs, then the output."""
    tensors: list[Tensor] = []
    original = launch.launch_programs

    def spy(kernel: Any, *given: Tensor, BLOCK: int) -> None:
        tensors[:] = given
        original(kernel, *given, BLOCK=BLOCK)

    monkeypatch.setattr(launch, "launch_programs", spy)
    return tensors


def multiply_add(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    return launch_elementwise(
        "multiply_add", multiply_add_kernel, a, b, c, BLOCK=64
    )


def slope_of_square(grad_output: Tensor, x: Tensor) -> Tensor:
    return launch_elementwise(
        "slope", square_backward_kernel, grad_output, x, BLOCK=64
    )


def shares_memory(one: Tensor, other: Tensor) -> bool:
    return (
        one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()
    )


@pytest.mark.parametrize("layout", DENSE)
def test_dense_tensors_are_not_copied(
    layout: str, seen: list[Tensor], draw: Draw
) -> None:
    inputs = [
        LAYOUTS[layout](draw(LAYOUT_VALUES, seed=seed)) for seed in (1, 2, 3)
    ]
    y = multiply_add(*inputs)
    addresses = [tensor.data_ptr() for tensor in inputs]
    assert [tensor.data_ptr() for tensor in seen[:-1]] == addresses
    assert seen[-1].data_ptr() == y.data_ptr()


@pytest.mark.parametrize("layout", OTHERS)
def test_all_others_are(layout: str, seen: list[Tensor], draw: Draw) -> None:
    inputs = [
        LAYOUTS[layout](draw(LAYOUT_VALUES, seed=seed)) for seed in (1, 2, 3)
    ]
    multiply_add(*inputs)
    for copy, tensor in zip(seen, inputs, strict=False):
        assert not shares_memory(copy, tensor)
        assert torch.equal(copy, tensor)


@pytest.mark.parametrize("grad_layout", DENSE)
@pytest.mark.parametrize("x_layout", DENSE)
def test_only_what_lies_otherwise_than_the_result_is_copied(
    x_layout: str, grad_layout: str, seen: list[Tensor], draw: Draw
) -> None:
    x = LAYOUTS[x_layout](draw(LAYOUT_VALUES, seed=1))
    grad_output = LAYOUTS[grad_layout](draw(LAYOUT_VALUES, seed=2))
    result = slope_of_square(grad_output, x)
    for given, tensor in zip(seen, (grad_output, x), strict=False):
        alike = tensor.stride() == result.stride()
        assert shares_memory(given, tensor) == alike


@pytest.mark.parametrize("grad_layout", LAYOUTS)
@pytest.mark.parametrize("x_layout", LAYOUTS)
def test_the_kernel_may_walk_memory_in_order(
    x_layout: str, grad_layout: str, seen: list[Tensor], draw: Draw
) -> None:
    slope_of_square(
        LAYOUTS[grad_layout](draw(LAYOUT_VALUES, seed=1)),
        LAYOUTS[x_layout](draw(LAYOUT_VALUES, seed=2)),
    )
    strides = {tensor.stride() for tensor in seen}
    assert len(strides) == 1
    (output,) = seen[-1:]
    last = sum(
        (size - 1) * stride
        for size, stride in zip(output.shape, output.stride(), strict=True)
    )
    assert last == output.numel() - 1


@pytest.mark.parametrize("layout", DENSE)
def test_the_other_sign_and_no_memory_are_copied(
    layout: str, draw: Draw
) -> None:
    tensor = LAYOUTS[layout](draw(LAYOUT_VALUES, seed=1))
    output = torch.empty_like(tensor)
    negated = torch._neg_view(tensor)  # pyright: ignore[reportPrivateImportUsage]
    assert negated.stride() == output.stride()
    copy = in_order_of(output, negated)
    assert not copy.is_neg()
    assert torch.equal(copy, -tensor)


def test_autograds_zeros_get_memory() -> None:
    make = torch._efficientzerotensor  # pyright: ignore[reportPrivateImportUsage]
    zeros = make((3, 4), device=DEVICE)
    copy = in_order_of(torch.empty(3, 4, device=DEVICE), zeros)
    assert not copy._is_zerotensor()
    assert copy.data_ptr() != 0
    assert torch.equal(copy, torch.zeros_like(copy))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_result_lies_as_pytorchs_of_one_input(
    layout: str, draw: Draw
) -> None:
    x = LAYOUTS[layout](draw(LAYOUT_VALUES, seed=1))
    assert empty_result((x,)).stride() == x.square().stride()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_result_lies_as_pytorchs_of_two_inputs(
    layout: str, draw: Draw
) -> None:
    x = LAYOUTS[layout](draw(LAYOUT_VALUES, seed=1))
    for make in LAYOUTS.values():
        other = make(draw(LAYOUT_VALUES, seed=2))
        assert empty_result((x, other)).stride() == (x * other).stride()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_result_lies_as_pytorchs_of_three_inputs(
    layout: str, draw: Draw
) -> None:
    x = LAYOUTS[layout](draw(LAYOUT_VALUES, seed=1))
    others = [make(draw(LAYOUT_VALUES, seed=2)) for make in LAYOUTS.values()]
    for second, third in product(others, others):
        expected = torch.addcmul(x, second, third).stride()
        assert empty_result((x, second, third)).stride() == expected


# Strides of size 1, and all strides of an empty tensor, address nothing.
IDLE_STRIDES = [
    ((), ()),
    ((1,), (7,)),
    ((5, 1), (1, 5)),
    ((2, 3, 1), (3, 1, 3)),
    ((1, 3, 2, 2), (5, 1, 6, 3)),
    ((0, 3), (1, 1)),
    ((3, 0, 2), (1, 5, 9)),
]


@pytest.mark.parametrize(("shape", "strides"), IDLE_STRIDES)
def test_idle_strides_are_set_as_pytorch_sets_them(
    shape: tuple[int, ...], strides: tuple[int, ...], draw: Draw
) -> None:
    x = draw(LAYOUT_VALUES, seed=1).as_strided(shape, strides)
    plain = torch.ones(shape, device=DEVICE)
    gelu = torch.nn.functional.gelu
    assert empty_result((x,)).stride() == gelu(x).stride()
    assert empty_result((x, x)).stride() == (x * x).stride()
    assert empty_result((x, plain)).stride() == (x * plain).stride()
    assert empty_result((plain, x)).stride() == (plain * x).stride()


def test_idle_strides_make_no_copy(seen: list[Tensor], draw: Draw) -> None:
    x, grad_output = draw(1, 5, seed=1).t(), draw(5, 1, seed=2)
    assert x.stride() != grad_output.stride()
    slope_of_square(grad_output, x)
    assert shares_memory(seen[0], grad_output)
    assert shares_memory(seen[1], x)


@pytest.mark.parametrize("layouts", [("sliced", "permuted", "one element")])
def test_three_inputs_each_in_its_own_layout(
    layouts: tuple[str, str, str], draw: Draw
) -> None:
    a, b, c = (
        LAYOUTS[layout](draw(LAYOUT_VALUES, seed=seed))
        for seed, layout in enumerate(layouts)
    )
    torch.testing.assert_close(multiply_add(a, b, c), a * b + c)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (([1.0],), "my_op() needs a tensor, got list: [1.0]"),
        (
            (torch.ones(2, dtype=torch.int32),),
            "my_op() needs a floating-point tensor, got torch.int32"
            " (accepted: float16, bfloat16, float32, float64)",
        ),
        (
            (torch.ones(2), torch.ones(2, dtype=torch.cdouble)),
            "my_op() needs a floating-point tensor, got torch.complex128"
            " (accepted: float16, bfloat16, float32, float64)",
        ),
        (
            (torch.ones(2).to_sparse(),),
            "my_op() needs a strided tensor, got torch.sparse_coo",
        ),
    ],
    ids=["list", "int32", "complex as second", "sparse"],
)
def test_a_wrong_kind_names_op_value_and_what_is_accepted(
    inputs: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(TypeError) as caught:
        check_inputs("my_op", inputs)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            torch.ones(2, dtype=torch.float64),
            "my_op() needs tensors of one dtype,"
            " got torch.float32 and torch.float64",
        ),
        (
            torch.ones(1, 2),
            "my_op() needs tensors of one shape, got (2,) and (1, 2)",
        ),
        (
            torch.ones(2, device="meta"),
            "my_op() needs tensors of one device, got cpu and meta",
        ),
    ],
    ids=["dtype", "shape", "device"],
)
@pytest.mark.parametrize("position", [1, 2])
def test_inputs_that_differ_are_named(
    other: Tensor, message: str, position: int
) -> None:
    inputs = [torch.ones(2)] * 3
    inputs[position] = other
    with pytest.raises(ValueError, match="needs tensors of one") as caught:
        check_inputs("my_op", tuple(inputs))
    assert str(caught.value) == message


@pytest.mark.parametrize("block", [0, -1, -1024, 3, 1000, 1025])
def test_a_block_that_is_no_power_of_two_is_named(block: int) -> None:
    with pytest.raises(ValueError, match="BLOCK") as caught:
        check_block("my_op", block)
    message = f"my_op() needs BLOCK a power of two, got {block}"
    assert str(caught.value) == message


@pytest.mark.parametrize("block", [1, 2, 1024, 2**20])
def test_a_block_that_is_a_power_of_two_is_taken(block: int) -> None:
    check_block("my_op", block)


def compiled_kernel() -> JITFunction[Any]:
    """A kernel as it is defined where the interpreter is off."""
    return JITFunction(multiply_add_kernel.fn)


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_a_device_that_the_kernel_cannot_reach_is_named(device: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        check_device("my_op", compiled_kernel(), torch.device(device))
    assert str(caught.value) == (
        f"my_op() needs a CUDA tensor, got one on {device}; to run on the"
        " CPU set TRITON_INTERPRET=1 before triton_grad is imported"
    )


def test_the_device_where_the_kernel_runs_is_taken() -> None:
    check_device("my_op", compiled_kernel(), torch.device("cuda", 1))
    check_device("my_op", multiply_add_kernel, torch.device(DEVICE))


def test_nothing_is_launched_on_inputs_that_are_refused(
    seen: list[Tensor], draw: Draw
) -> None:
    x = draw(4, seed=1)
    with pytest.raises(ValueError, match="one shape"):
        slope_of_square(x, x[:3])
    with pytest.raises(ValueError, match="power of two"):
        launch_elementwise("slope", square_backward_kernel, x, x, BLOCK=3)
    assert seen == []
