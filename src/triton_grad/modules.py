"""The ops as modules."""

from torch import Tensor
from torch.nn import Module

from triton_grad.ops.gelu import gelu


class GELU(Module):
    """The exact GELU as a module, in place of `torch.nn.GELU`.

    It has no parameters and no buffers, so a model's state dict is the same
    with either of the two.

    Args:
        approximate: As that of `torch.nn.GELU`; "none" alone is accepted.

    Shape:
        Any; the result has the shape, dtype, device and memory format of
        the input. Errors are those of `gelu`.

    Raises:
        ValueError: Another approximation is asked for.
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        if approximate != "none":
            raise ValueError(
                "GELU() computes the exact GELU, approximate='none', got"
                f" {approximate!r}"
            )

    def forward(self, x: Tensor) -> Tensor:
        """gelu(x)."""
        return gelu(x)
