"""The ops as modules."""

from torch import Tensor
from torch.nn import Module

from triton_grad.ops.gelu import gelu


class GELU(Module):
    """The exact GELU as a module, in place of `torch.nn.GELU()`.

    It has no parameters and no buffers, so a model's state dict is the same
    with either of the two.

    Shape:
        Any; the result has the shape, dtype, device and memory format of
        the input. Errors are those of `gelu`.
    """

    def forward(self, x: Tensor) -> Tensor:
        """gelu(x)."""
        return gelu(x)
