"""Tools that find what an ordinary test of a kernel cannot see.

`check_op` is loaded when it is first used, so that the smaller tools do not
import all that it is made of. Its type stands in `__init__.pyi`.
"""

from importlib import import_module

__all__ = ["check_op"]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("triton_grad.testing.check"), name)


def __dir__() -> list[str]:
    return __all__
