"""What an op is called with: shapes by name, values, and memory layouts."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

ANY_SHAPE = "..."
SPEC = re.compile(
    r"(?P<int>int\s+)?(?P<dims>\.\.\.|\w+(?:\s+\w+)*)"
    r"\s*(?:(?P<sign>[<>])\s*(?P<bound>\w+))?\s*"
)


@dataclass(frozen=True)
class TensorArgument:
    """A tensor by its shape.

    Attributes:
        dims: Names of dimensions, or fixed sizes; None: any shape, of which
            every element is computed alone.
        below: For int64 values: they are at least 0 and below this
            dimension or number. None: floating-point values.
        positive: Whether all values are above 0.
    """

    dims: tuple[str, ...] | None
    below: str | None = None
    positive: bool = False

    def shape(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Its shape when the named dimensions have these sizes.

        The dimensions of a tensor of any shape are called "axis0", ...
        """
        dims = self.dims
        if dims is None:
            dims = tuple(sorted(it for it in sizes if it.startswith("axis")))
        return tuple(int(it) if it.isdigit() else sizes[it] for it in dims)

    @property
    def is_float(self) -> bool:
        return self.below is None


def parse_argument(argument: Any) -> Any:
    """A string is a tensor's shape; anything else is passed on as it is.

    Raises:
        ValueError: A string is no shape.
    """
    if not isinstance(argument, str):
        return argument
    match = SPEC.fullmatch(argument.strip())
    if match is None or (match["int"] and match["sign"] != "<"):
        raise ValueError(
            f"inputs: {argument!r} is no shape; write '...', 'rows cols',"
            " 'rows 64', 'cols > 0' or 'int rows < cols'"
        )
    if match["sign"] == "<" and not match["int"]:
        raise ValueError(
            f"inputs: {argument!r} is bounded above; only integers are:"
            f" 'int {argument.strip()}'"
        )
    dims = (
        None if match["dims"] == ANY_SHAPE else tuple(match["dims"].split())
    )
    return TensorArgument(
        dims,
        below=match["bound"] if match["int"] else None,
        positive=match["sign"] == ">",
    )


def names_of(arguments: Sequence[Any]) -> list[str]:
    """The named dimensions, in the order in which they first appear."""
    named = [
        name
        for it in arguments
        if isinstance(it, TensorArgument) and it.dims is not None
        for name in it.dims
        if not name.isdigit()
    ]
    return list(dict.fromkeys(named))


def draw_values(
    argument: TensorArgument,
    shape: tuple[int, ...],
    sizes: Mapping[str, int],
    generator: torch.Generator,
    simple: bool,
) -> Tensor:
    """Random values in float64 or int64; simple ones are quarters."""
    if argument.below is not None:
        bound = argument.below
        high = int(bound) if bound.isdigit() else sizes[bound]
        return torch.randint(0, max(high, 1), shape, generator=generator)
    values = torch.randn(shape, generator=generator, dtype=torch.float64)
    if argument.positive:
        values = values.abs() + 0.125
    return simplified(values) if simple else values


def simplified(values: Tensor) -> Tensor:
    """The nearest odd quarters: short to read, and none of them is 0."""
    return (2.0 * values).floor() / 2.0 + 0.25


def two_apart(values: Tensor) -> tuple[Tensor, Tensor]:
    *rest, last = values.shape
    base = values.new_zeros(*rest, 2 * last)
    return base, base[..., ::2]


def in_wider_rows(values: Tensor) -> tuple[Tensor, Tensor]:
    *rest, last = values.shape
    base = values.new_zeros(*rest, last + 3)
    return base, base[..., :last]


def transposed(values: Tensor) -> tuple[Tensor, Tensor]:
    base = torch.zeros_like(values.transpose(-1, -2)).contiguous()
    return base, base.transpose(-1, -2)


def behind_others(values: Tensor) -> tuple[Tensor, Tensor]:
    base = values.new_zeros(values.numel() + 3)
    return base, base[3:].view(values.shape)


def one_row(values: Tensor) -> tuple[Tensor, Tensor]:
    base = values[:1].clone()
    return base, base.expand(values.shape)


def one_element(values: Tensor) -> tuple[Tensor, Tensor]:
    base = values.flatten()[:1].clone()
    return base, base.view((1,) * values.dim()).expand(values.shape)


# Each makes memory and a view of it; and the fewest dimensions that it needs.
MEMORY_LAYOUTS = {
    "contiguous": (lambda values: (values.clone(),) * 2, 0),
    "offset": (behind_others, 1),
    "sliced": (two_apart, 1),
    "one element": (one_element, 1),
    "transposed": (transposed, 2),
    "wider rows": (in_wider_rows, 2),
    "one row": (one_row, 2),
}


def layouts_of(dims: int) -> list[str]:
    """The layouts other than contiguous that so many dimensions can have."""
    return [
        name
        for name, (_, fewest) in MEMORY_LAYOUTS.items()
        if name != "contiguous" and dims >= fewest
    ]


def lay_out(values: Tensor, layout: str, device: str) -> Tensor:
    """Lay values out in memory of a device, with others between them.

    Where several elements share one place, the first of the values stands
    for all of them.
    """
    if values.numel() == 0:
        return values.to(device)
    base, view = MEMORY_LAYOUTS[layout][0](values)
    shared = 0 in view.stride() and layout.startswith("one")
    if not shared:
        # Numbers that are no element's must not look like one.
        base.copy_(torch.arange(base.numel()).view(base.shape) % 7 + 3)
        view.copy_(values)
    return base.to(device).as_strided(
        view.shape, view.stride(), view.storage_offset()
    )
