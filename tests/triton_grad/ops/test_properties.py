"""Any shape in any layout beside any other: what Hypothesis thinks of."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import pytest
import torch
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.launch import FLOAT_DTYPES
from triton_grad.testing.cases import OpCase

pytest.importorskip("hypothesis")

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

AssertRight = Callable[[Tensor, Tensor], None]

# The same examples every time, wherever it runs.
EXAMPLES = settings(
    max_examples=100,
    derandomize=True,
    database=None,
    deadline=None,
    # Examples are small as they are; to shrink one can take minutes.
    phases=[Phase.generate],
    # The fixtures here hold nothing that one example leaves to the next.
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@dataclass(frozen=True)
class Layout:
    """How a tensor lies in memory, whatever its shape.

    Attributes:
        order: Its dimensions, the one that memory changes slowest first.
        steps: Of each dimension, how many elements of memory for one of it.
        expanded: Of each dimension, whether one element stands for all.
        offset: Where in memory it begins.
        negated: Whether memory holds the other sign.
    """

    order: tuple[int, ...]
    steps: tuple[int, ...]
    expanded: tuple[bool, ...]
    offset: int
    negated: bool

    def lay_out(
        self, shape: tuple[int, ...], seed: int, dtype: torch.dtype
    ) -> tuple[Tensor, Tensor]:
        """A tensor of random values so laid out, and all of its memory."""
        kept = [
            1 if self.expanded[dim] else shape[dim] * self.steps[dim]
            for dim in self.order
        ]
        generator = torch.Generator().manual_seed(seed)
        memory = torch.randn(
            self.offset + prod(kept) + 3,
            generator=generator,
            dtype=torch.float64,
        ).to(DEVICE, dtype)
        tensor = memory[self.offset : self.offset + prod(kept)].view(kept)
        tensor = tensor.permute(
            [self.order.index(d) for d in range(len(kept))]
        )
        for dim, step in enumerate(self.steps):
            if not self.expanded[dim]:
                tensor = tensor[
                    (slice(None),) * dim + (slice(0, None, step),)
                ]
        tensor = tensor.expand(shape)
        if self.negated:
            tensor = torch._neg_view(tensor)  # pyright: ignore[reportPrivateImportUsage]
        return tensor, memory


def plain(tensor: Tensor) -> Tensor:
    """The tensor with the sign that memory holds.

    PyTorch's ops copy a negated view first, and lay out their result as the
    copy: that can differ in strides of size 1, which address nothing.
    """
    negated = torch._neg_view  # pyright: ignore[reportPrivateImportUsage]
    return negated(tensor) if tensor.is_neg() else tensor


shapes = st.lists(st.integers(0, 4), max_size=4).map(tuple)
seeds = st.integers(0, 2**16)


def layouts(rank: int) -> st.SearchStrategy[Layout]:
    def one_each(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.tuples(*[values] * rank)

    return st.builds(
        Layout,
        order=st.permutations(range(rank)).map(tuple),
        steps=one_each(st.integers(1, 3)),
        expanded=one_each(st.booleans()),
        offset=st.integers(0, 5),
        negated=st.booleans(),
    )


@dataclass(frozen=True)
class Example:
    """A shape and two layouts of it, one for x and one for its gradient."""

    shape: tuple[int, ...]
    x_layout: Layout
    grad_layout: Layout


examples = shapes.flatmap(
    lambda shape: st.builds(
        Example,
        shape=st.just(shape),
        x_layout=layouts(len(shape)),
        grad_layout=layouts(len(shape)),
    )
)


@pytest.mark.usefixtures("poisoned_memory")
@EXAMPLES
@given(
    example=examples,
    dtype=st.sampled_from(FLOAT_DTYPES),
    block=st.sampled_from([8, 1024]),
    seed=seeds,
)
def test_value_and_gradient(
    op: OpCase,
    assert_right: AssertRight,
    example: Example,
    dtype: torch.dtype,
    block: int,
    seed: int,
) -> None:
    """Right, laid out as PyTorch's, every element written, no input."""
    shape = example.shape
    x, x_memory = example.x_layout.lay_out(shape, seed, dtype)
    grad_output, grad_memory = example.grad_layout.lay_out(
        shape, seed + 1, dtype
    )
    before = x_memory.clone(), grad_memory.clone()
    y = op.forward(x, BLOCK=block)
    grad_input = op.backward(grad_output, x, BLOCK=block)
    assert_right(y, op.oracle(x))
    assert_right(grad_input, op.backward_oracle(grad_output, x))
    assert y.stride() == op.reference(plain(x)).stride()
    expected = (plain(grad_output) * plain(x)).stride()
    assert grad_input.stride() == expected
    assert torch.equal(x_memory, before[0])
    assert torch.equal(grad_memory, before[1])


@EXAMPLES
@given(example=examples, dtype=st.sampled_from(FLOAT_DTYPES), seed=seeds)
def test_through_autograd(
    op: OpCase,
    assert_right: AssertRight,
    example: Example,
    dtype: torch.dtype,
    seed: int,
) -> None:
    """As above: a leaf in any layout, a gradient in any other."""
    x, _ = example.x_layout.lay_out(example.shape, seed, dtype)
    grad_output, _ = example.grad_layout.lay_out(
        example.shape, seed + 1, dtype
    )
    leaf = x.detach().requires_grad_()
    (grad_input,) = torch.autograd.grad(op.apply(leaf), leaf, grad_output)
    assert grad_input.shape == x.shape
    assert grad_input.dtype == dtype
    assert_right(grad_input, op.backward_oracle(grad_output, x))


def test_the_layouts_are_as_described() -> None:
    layout = Layout(
        order=(2, 0, 1),
        steps=(1, 2, 3),
        expanded=(False, False, False),
        offset=2,
        negated=True,
    )
    tensor, memory = layout.lay_out((2, 3, 4), 1, torch.float32)
    assert tensor.shape == (2, 3, 4)
    assert tensor.stride() == (6, 2, 36)
    assert tensor.storage_offset() == 2
    assert tensor.is_neg()
    assert tensor[0, 0, 0] == -memory[2]
