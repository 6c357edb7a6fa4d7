"""Triton kernels and their gradients.

The names below are loaded when they are first used, so that one op does not
import the others. Their types stand in `__init__.pyi`.
"""

from importlib import import_module

# First of all imports: it turns the interpreter on where there is no GPU.
from triton_grad.device import DEVICE

_HOMES = {
    "GELU": "triton_grad.modules",
    "TritonGELU": "triton_grad.ops.gelu",
    "TritonSquare": "triton_grad.ops.square",
    "gelu": "triton_grad.ops.gelu",
    "square": "triton_grad.ops.square",
}

__all__ = ["DEVICE"]
__all__ += _HOMES  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
