"""The tests that people write, each of which passes some wrong op.

Each takes an op, its oracle and its inputs, as `check_op` does, and raises
AssertionError if it notices something. None is careless: values and gradients
are compared with the oracle in float64, at tolerances that a wrong formula
does not meet. What each leaves out stands in its docstring, and a trap's
`Missed by:` names the one that passes it.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.testing.arguments import (
    TensorArgument,
    names_of,
    parse_argument,
)

Op = Callable[..., Tensor]
WeakTest = Callable[[Op, Op, Sequence[Any]], None]

# Sizes of named dimensions in the order in which they appear. An op of any
# shape gets the first two: 2100 elements, or 8192, which are whole blocks.
RAGGED = (7, 300, 50)
WHOLE_BLOCKS = (64, 128, 256)
FEW = (3, 5, 4)
TOLERANCE = 1e-4


def arguments(
    inputs: Sequence[Any],
    sizes: Sequence[int] = RAGGED,
    dtype: torch.dtype = torch.float32,
    change: Callable[[Tensor], Tensor] = torch.clone,
    one_seed: bool = False,
) -> list[Any]:
    """What to call an op with: contiguous tensors, drawn from a normal.

    Args:
        inputs: As `check_op` takes them.
        sizes: Of the dimensions that they name.
        dtype: Of the floating-point tensors.
        change: Applied to the values of these.
        one_seed: Whether all tensors are drawn from the same seed.
    """
    parsed = [parse_argument(it) for it in inputs]
    names = names_of(parsed) or ["axis0", "axis1"]
    size = dict(zip(names, sizes, strict=False))
    drawn: list[Any] = []
    for position, it in enumerate(parsed):
        if not isinstance(it, TensorArgument):
            drawn.append(it)
            continue
        generator = torch.Generator().manual_seed(
            0 if one_seed else position + 1
        )
        shape = it.shape(size)
        if it.below is not None:
            high = size[it.below]
            indices = torch.randint(high, shape, generator=generator)
            drawn.append(indices.to(DEVICE))
            continue
        values = change(torch.randn(shape, generator=generator))
        drawn.append(values.to(DEVICE, dtype).requires_grad_())
    return drawn


def widened(arguments: Sequence[Any]) -> list[Any]:
    """The same values in float64, as other leaves."""
    return [
        it.detach().double().requires_grad_() if is_float(it) else it
        for it in arguments
    ]


def is_float(argument: Any) -> bool:
    return isinstance(argument, Tensor) and argument.is_floating_point()


def gradients(
    op: Op, arguments: Sequence[Any], grad_output: Tensor
) -> tuple[Tensor | None, ...]:
    """Of the op, by all its floating-point tensors."""
    leaves = [it for it in arguments if is_float(it)]
    return torch.autograd.grad(
        op(*arguments), leaves, grad_output, allow_unused=True
    )


def random_gradient(like: Tensor, seed: int = 99) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    values = torch.randn(like.shape, generator=generator)
    return values.to(like.device, like.dtype)


def assert_near(
    actual: Tensor | None, truth: Tensor | None, tolerance: float = TOLERANCE
) -> None:
    assert truth is not None
    assert actual is not None, "a gradient is missing"
    torch.testing.assert_close(
        actual.double(), truth, rtol=tolerance, atol=tolerance
    )


def assert_values(
    op: Op, oracle: Op, called_with: Sequence[Any], tolerance: float
) -> Tensor:
    """Compare the op's result, and return the truth."""
    truth = oracle(*widened(called_with)).detach()
    assert_near(op(*called_with), truth, tolerance)
    return truth


def assert_gradients(
    op: Op,
    oracle: Op,
    called_with: Sequence[Any],
    grad_output: Tensor,
    tolerance: float = TOLERANCE,
) -> None:
    truths = gradients(oracle, widened(called_with), grad_output.double())
    actual = gradients(op, called_with, grad_output)
    for grad, truth in zip(actual, truths, strict=True):
        assert_near(grad, truth, tolerance)


def assert_agrees(
    op: Op,
    oracle: Op,
    called_with: Sequence[Any],
    tolerance: float = TOLERANCE,
) -> None:
    """Value, and gradient for a random cotangent that is no input."""
    truth = assert_values(op, oracle, called_with, tolerance)
    grad_output = random_gradient(truth).to(float_dtype(called_with))
    assert_gradients(op, oracle, called_with, grad_output, tolerance)


def float_dtype(called_with: Sequence[Any]) -> torch.dtype:
    return next(it.dtype for it in called_with if is_float(it))


def sum_backward(op: Op, oracle: Op, inputs: Sequence[Any]) -> None:
    """Value, and gradient of the sum: the cotangent is 1 everywhere."""
    called_with = arguments(inputs)
    truth = assert_values(op, oracle, called_with, TOLERANCE)
    ones = torch.ones((), dtype=torch.float32, device=truth.device)
    assert_gradients(op, oracle, called_with, ones.expand(truth.shape))


def gradcheck(op: Op, oracle: Op, inputs: Sequence[Any]) -> None:
    """PyTorch's gradcheck, in float64: its cotangents are contiguous."""
    called_with = arguments(inputs, FEW, torch.float64)
    assert_values(op, oracle, called_with, TOLERANCE)
    assert torch.autograd.gradcheck(op, called_with, raise_exception=False)


def contiguous_only(op: Op, oracle: Op, inputs: Sequence[Any]) -> None:
    """Value and gradient, of sizes great and small, all contiguous."""
    for sizes in (RAGGED, FEW, WHOLE_BLOCKS):
        for dtype in (torch.float32, torch.float64):
            assert_agrees(op, oracle, arguments(inputs, sizes, dtype))


def powers_of_two_only(op: Op, oracle: Op, inputs: Sequence[Any]) -> None:
    """Value and gradient, of whole blocks alone: no lane is masked."""
    assert_agrees(op, oracle, arguments(inputs, WHOLE_BLOCKS))


def forward_only(op: Op, oracle: Op, inputs: Sequence[Any]) -> None:
    """The values, and no gradient."""
    for sizes in (RAGGED, FEW, WHOLE_BLOCKS):
        assert_values(op, oracle, arguments(inputs, sizes), TOLERANCE)


def float32_only(op: Op, oracle: Op, inputs: Sequence[Any]) -> None:
    """Value and gradient, in float32 and in no other dtype."""
    for sizes in (RAGGED, FEW):
        assert_agrees(op, oracle, arguments(inputs, sizes))


def first_gradient_only(op: Op, oracle: Op, inputs: Sequence[Any]) -> None:
    """Value and gradient, and not the gradient's gradient."""
    for dtype in (torch.float32, torch.float64):
        called_with = arguments(inputs, RAGGED, dtype)
        assert_agrees(op, oracle, called_with)
    assert torch.autograd.gradcheck(
        op, arguments(inputs, FEW, torch.float64), raise_exception=False
    )


def one_call(op: Op, oracle: Op, inputs: Sequence[Any]) -> None:
    """Value and gradient, each looked at before the op is called again."""
    assert_agrees(op, oracle, arguments(inputs))


def moderate_values(op: Op, oracle: Op, inputs: Sequence[Any]) -> None:
    """Value and gradient, where all numbers lie between -3 and 3."""

    def moderate(values: Tensor) -> Tensor:
        return values.clamp(-3.0, 3.0)

    for dtype in (torch.float32, torch.float64):
        called_with = arguments(inputs, RAGGED, dtype, moderate)
        assert_agrees(op, oracle, called_with)


def loose_tolerance(op: Op, oracle: Op, inputs: Sequence[Any]) -> None:
    """Value and gradient in every dtype, to two digits."""
    for dtype in (torch.float16, torch.float32, torch.float64):
        called_with = arguments(inputs, RAGGED, dtype)
        assert_agrees(op, oracle, called_with, tolerance=1e-2)


def after_warm_up(op: Op, oracle: Op, inputs: Sequence[Any]) -> None:
    """Value and gradient, once each shape has been compiled and tuned."""
    called_with = arguments(inputs)
    op(*called_with)
    assert_agrees(op, oracle, called_with)


def positive_values(op: Op, oracle: Op, inputs: Sequence[Any]) -> None:
    """Value and gradient of positive numbers, as torch.rand draws them."""
    for sizes in (RAGGED, FEW):
        called_with = arguments(inputs, sizes, change=torch.abs)
        assert_agrees(op, oracle, called_with)


def one_seed(op: Op, oracle: Op, inputs: Sequence[Any]) -> None:
    """Value and gradient, where every tensor is drawn from one seed.

    Tensors of one shape are then equal, the cotangent among them.
    """
    called_with = arguments(inputs, one_seed=True)
    truth = assert_values(op, oracle, called_with, TOLERANCE)
    grad_output = random_gradient(truth, seed=0).float()
    assert_gradients(op, oracle, called_with, grad_output)


def first_input_only(op: Op, oracle: Op, inputs: Sequence[Any]) -> None:
    """Value, and gradient for the first tensor alone."""
    called_with = arguments(inputs)
    truth = assert_values(op, oracle, called_with, TOLERANCE)
    grad_output = random_gradient(truth).float()
    (actual, *_) = gradients(op, called_with, grad_output)
    (right, *_) = gradients(
        oracle, widened(called_with), grad_output.double()
    )
    assert_near(actual, right)


WEAK_TESTS: tuple[WeakTest, ...] = (
    sum_backward,
    gradcheck,
    contiguous_only,
    powers_of_two_only,
    forward_only,
    float32_only,
    first_gradient_only,
    one_call,
    moderate_values,
    loose_tolerance,
    after_warm_up,
    positive_values,
    one_seed,
    first_input_only,
)
