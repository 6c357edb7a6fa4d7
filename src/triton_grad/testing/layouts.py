"""The ways in which a tensor of one shape can lie in memory."""

from collections.abc import Callable

from torch import Tensor

LAYOUT_SHAPE = (2, 3, 4, 2)
LAYOUT_VALUES = 96

# Each makes a tensor of LAYOUT_SHAPE, a view of LAYOUT_VALUES values.
LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "contiguous": lambda v: v[:48].view(2, 3, 4, 2),
    "offset": lambda v: v[5:53].view(2, 3, 4, 2),
    "channels last": lambda v: v[:48].view(2, 4, 2, 3).permute(0, 3, 1, 2),
    "transposed": lambda v: v[:48].view(2, 3, 2, 4).transpose(2, 3),
    "permuted": lambda v: v[:48].view(4, 2, 2, 3).permute(1, 3, 0, 2),
    "sliced": lambda v: v.view(2, 3, 4, 4)[..., ::2],
    "sliced channels last": lambda v: v.view(2, 8, 2, 3)[:, ::2].permute(
        0, 3, 1, 2
    ),
    "one element": lambda v: v[0].expand(2, 3, 4, 2),
    "expanded": lambda v: v[:16].view(2, 1, 4, 2).expand(2, 3, 4, 2),
    "expanded transposed": lambda v: (
        v[:24].view(2, 4, 3).permute(1, 2, 0)[None].expand(2, 4, 3, 2)
    ).transpose(1, 2),
    "overlapping": lambda v: v.as_strided((2, 3, 4, 2), (5, 3, 2, 1)),
}
