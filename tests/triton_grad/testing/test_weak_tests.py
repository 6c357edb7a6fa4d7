"""The weak tests are tests: each passes what is right, and not anything."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.testing.museum import (
    layer_norm_reference,
    rms_norm_reference,
    softmax_reference,
)
from triton_grad.testing.weak_tests import (
    WEAK_TESTS,
    Op,
    WeakTest,
    after_warm_up,
    arguments,
    contiguous_only,
    first_gradient_only,
    first_input_only,
    float32_only,
    forward_only,
    gradcheck,
    loose_tolerance,
    moderate_values,
    one_call,
    one_seed,
    positive_values,
    powers_of_two_only,
    sum_backward,
)


def gather(table: Tensor, rows: Tensor) -> Tensor:
    return table[rows]


RIGHT: list[tuple[Op, Sequence[Any]]] = [
    (torch.nn.functional.gelu, ["..."]),
    (torch.mul, ["rows cols", "cols"]),
    (softmax_reference, ["rows cols"]),
    (layer_norm_reference, ["rows cols", 1e-5]),
    (rms_norm_reference, ["rows cols", "cols", 1e-5]),
    (gather, ["rows cols", "int picks < rows"]),
]

every_test = pytest.mark.parametrize(
    "weak_test", WEAK_TESTS, ids=lambda it: it.__name__
)


@every_test
@pytest.mark.parametrize(
    ("op", "inputs"), RIGHT, ids=lambda it: getattr(it, "__name__", "")
)
def test_it_passes_what_is_right(
    weak_test: WeakTest, op: Op, inputs: Sequence[Any]
) -> None:
    weak_test(op, op, inputs)


def test_all_are_listed() -> None:
    assert len(set(WEAK_TESTS)) == len(WEAK_TESTS)
    assert all(it.__doc__ for it in WEAK_TESTS)


def square(x: Tensor) -> Tensor:
    return x * x


def a_thousandth_too_much(x: Tensor) -> Tensor:
    return 1.001 * x * x


@pytest.mark.parametrize(
    "weak_test",
    [it for it in WEAK_TESTS if it is not loose_tolerance],
    ids=lambda it: it.__name__,
)
def test_it_notices_a_value(weak_test: WeakTest) -> None:
    with pytest.raises(AssertionError):
        weak_test(a_thousandth_too_much, square, ["..."])


def test_a_loose_tolerance_notices_a_twentieth() -> None:
    loose_tolerance(a_thousandth_too_much, square, ["..."])
    with pytest.raises(AssertionError):
        loose_tolerance(lambda x: 1.05 * x * x, square, ["..."])


def with_gradient(value: Tensor, gradient_of: Tensor) -> Tensor:
    """The one's values and the other's gradient."""
    return value.detach() + gradient_of - gradient_of.detach()


def half_the_gradient(x: Tensor) -> Tensor:
    return with_gradient(x * x, 0.5 * x * x)


@pytest.mark.parametrize(
    "weak_test",
    [it for it in WEAK_TESTS if it is not forward_only],
    ids=lambda it: it.__name__,
)
def test_it_notices_a_gradient(weak_test: WeakTest) -> None:
    with pytest.raises(AssertionError):
        weak_test(half_the_gradient, square, ["..."])


def test_values_alone_do_not() -> None:
    forward_only(half_the_gradient, square, ["..."])


def wrong_where(part: Tensor, x: Tensor) -> Tensor:
    return torch.where(part, 2.0 * x * x, x * x)


def wrong_far_out(x: Tensor) -> Tensor:
    return wrong_where(x.abs() > 3.0, x)


def wrong_below_zero(x: Tensor) -> Tensor:
    return wrong_where(x < 0.0, x)


def wrong_in_16_bits(x: Tensor) -> Tensor:
    return 1.1 * x * x if x.dtype == torch.float16 else x * x


def wrong_in_64_bits(x: Tensor) -> Tensor:
    return 1.1 * x * x if x.dtype == torch.float64 else x * x


def wrong_for_ragged(x: Tensor) -> Tensor:
    return 2.0 * x * x if x.numel() % 1024 else x * x


@pytest.mark.parametrize(
    ("op", "passed_by"),
    [
        (wrong_far_out, [gradcheck, moderate_values]),
        (wrong_below_zero, [positive_values]),
        (wrong_for_ragged, [powers_of_two_only]),
        (
            wrong_in_64_bits,
            [
                sum_backward,
                powers_of_two_only,
                forward_only,
                float32_only,
                one_call,
                after_warm_up,
                positive_values,
                one_seed,
                first_input_only,
            ],
        ),
        (
            wrong_in_16_bits,
            [it for it in WEAK_TESTS if it is not loose_tolerance],
        ),
    ],
    ids=lambda it: getattr(it, "__name__", ""),
)
def test_it_misses_what_it_leaves_out_and_nothing_else(
    op: Op, passed_by: list[WeakTest]
) -> None:
    assert [it for it in WEAK_TESTS if passes(it, op, square, ["..."])] == (
        passed_by
    )


def passes(
    weak_test: WeakTest, op: Op, oracle: Op, inputs: Sequence[Any]
) -> bool:
    try:
        weak_test(op, oracle, inputs)
    except AssertionError:
        return False
    return True


class HalfUnlessOnes(torch.autograd.Function):
    """The square; a gradient of ones alone is multiplied."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 2.0 * x


def test_a_sum_misses_the_chain_rule_and_others_do_not() -> None:
    op = HalfUnlessOnes.apply
    missed = [it for it in WEAK_TESTS if passes(it, op, square, ["..."])]
    assert missed == [sum_backward, forward_only]


def swapped(x: Tensor, y: Tensor) -> Tensor:
    return with_gradient(x * y, 0.5 * (x * x + y * y))


def test_one_seed_misses_a_swap_and_others_do_not() -> None:
    inputs = ["...", "..."]
    missed = [
        it for it in WEAK_TESTS if passes(it, swapped, torch.mul, inputs)
    ]
    assert missed == [forward_only, one_seed]


def only_the_first(x: Tensor, y: Tensor) -> Tensor:
    return x * y.detach()


def test_the_first_input_misses_the_second() -> None:
    inputs = ["...", "..."]
    missed = [
        it
        for it in WEAK_TESTS
        if passes(it, only_the_first, torch.mul, inputs)
    ]
    assert missed == [forward_only, first_input_only]


class FirstCallWrong:
    """Like a tuned kernel that adds its trials to its output."""

    def __init__(self) -> None:
        self.seen: set[tuple[torch.Size, torch.dtype]] = set()

    def __call__(self, x: Tensor) -> Tensor:
        key = (x.shape, x.dtype)
        again = key in self.seen
        self.seen.add(key)
        return x * x if again else 3.0 * x * x


def test_a_warm_up_misses_the_first_call() -> None:
    missed = [
        it
        for it in WEAK_TESTS
        if passes(it, FirstCallWrong(), square, ["..."])
    ]
    assert missed == [after_warm_up]


def test_no_order_of_memory_is_tried() -> None:
    """Which is what the layouts' traps need; gradients come as they come."""
    seen: list[Tensor] = []

    def looking(x: Tensor) -> Tensor:
        seen.append(x)
        return x * x

    for weak_test in (gradcheck, contiguous_only, first_gradient_only):
        weak_test(looking, square, ["..."])
    assert seen
    assert all(x.is_contiguous() for x in seen)


def test_arguments_are_where_the_kernels_run() -> None:
    table, rows, flag = arguments(["rows cols", "int picks < rows", True])
    assert table.device.type == rows.device.type == DEVICE
    assert table.requires_grad
    assert rows.dtype == torch.int64
    assert 0 <= rows.min() <= rows.max() < table.shape[0]
    assert flag is True


def test_one_call_is_one() -> None:
    """Each of its two calls is looked at before the other is made."""
    shared = torch.zeros(2100, device=DEVICE)

    def into_one_buffer(x: Tensor) -> Tensor:
        shared[: x.numel()] = (x.detach() * x.detach()).flatten()
        return with_gradient(shared[: x.numel()].view(x.shape), x * x)

    one_call(into_one_buffer, square, ["..."])
