"""Arguments by name, and every layout: the same values, elsewhere."""

import pytest
import torch

from triton_grad.testing.arguments import (
    MEMORY_LAYOUTS,
    TensorArgument,
    draw_values,
    lay_out,
    layouts_of,
    names_of,
    parse_argument,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("...", TensorArgument(None)),
        ("rows cols", TensorArgument(("rows", "cols"))),
        ("rows 64", TensorArgument(("rows", "64"))),
        ("cols > 0", TensorArgument(("cols",), positive=True)),
        ("int rows < cols", TensorArgument(("rows",), below="cols")),
        ("int rows < 10", TensorArgument(("rows",), below="10")),
        (1e-5, 1e-5),
        (None, None),
    ],
)
def test_an_argument_is_a_shape_or_itself(
    text: object, expected: object
) -> None:
    assert parse_argument(text) == expected


@pytest.mark.parametrize("text", ["", "a,b", "int rows", "rows < 3", "a >"])
def test_what_is_no_shape_is_refused_with_a_way_out(text: str) -> None:
    with pytest.raises(ValueError, match=r"inputs: .*int "):
        parse_argument(text)


def test_a_name_means_one_size_everywhere() -> None:
    arguments = [parse_argument(it) for it in ("rows cols", "cols", "cols 4")]
    sizes = {"rows": 2, "cols": 3}
    shapes = [it.shape(sizes) for it in arguments]
    assert shapes == [(2, 3), (3,), (3, 4)]
    assert names_of(arguments) == ["rows", "cols"]


def test_integers_are_below_their_bound_and_positive_values_positive() -> (
    None
):
    generator = torch.Generator().manual_seed(1)
    sizes = {"rows": 50, "cols": 3}
    indices = draw_values(
        parse_argument("int rows < cols"), (50,), sizes, generator, False
    )
    assert indices.dtype == torch.int64
    assert set(indices.tolist()) == {0, 1, 2}
    above = draw_values(
        parse_argument("rows > 0"), (50,), sizes, generator, False
    )
    assert (above > 0.0).all()


@pytest.mark.parametrize(
    ("layout", "shape"),
    [
        (layout, shape)
        for shape in [(6,), (4, 3), (2, 3, 4)]
        for layout in ("contiguous", *layouts_of(len(shape)))
    ],
)
def test_a_layout_moves_values_and_changes_none(
    layout: str, shape: tuple[int, ...]
) -> None:
    values = torch.randn(shape, dtype=torch.float64)
    tensor = lay_out(values, layout, "cpu")
    if layout == "one element":
        values = values.flatten()[:1].expand(values.numel()).view(shape)
    if layout == "one row":
        values = values[:1].expand(shape)
    assert torch.equal(tensor, values)
    in_order = tensor.is_contiguous() and tensor.storage_offset() == 0
    assert in_order == (layout == "contiguous")


def test_gaps_hold_numbers_that_are_no_elements() -> None:
    tensor = lay_out(torch.full((4,), 0.5), "sliced", "cpu")
    memory = torch.tensor([]).set_(tensor.untyped_storage())
    assert (memory[1::2] != 0.5).all()


@pytest.mark.parametrize("layout", MEMORY_LAYOUTS)
def test_an_empty_tensor_has_every_layout(layout: str) -> None:
    assert lay_out(torch.empty(0, 3), layout, "cpu").shape == (0, 3)
