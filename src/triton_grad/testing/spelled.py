"""A callable as one writes it on a command line."""

import difflib
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType
from typing import Any

import torch

NAME = re.compile(r"(?P<module>[\w.]+)(:(?P<names>[\w.]+))?")


class SpellingError(ValueError):
    """There is no callable of that name; the message says what to do."""


@dataclass(frozen=True)
class Spelled:
    """A callable by its name; another process finds it by that again.

    Attributes:
        text: `module:name`, a dotted name such as
            `torch.nn.functional.gelu`, or an expression of `torch` and `F`
            such as `lambda x: torch.softmax(x, -1)`.
    """

    text: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.found()(*args, **kwargs)

    @property
    def __name__(self) -> str:
        return self.text

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        """What inspect.signature reads the arguments' names of."""
        return self.found()

    def found(self) -> Callable[..., Any]:
        """What the text stands for.

        Raises:
            SpellingError: It stands for nothing that can be called.
        """
        return _found(self.text)


@lru_cache
def _found(text: str) -> Callable[..., Any]:
    name = NAME.fullmatch(text)
    if name is None:
        found = _evaluated(text)
    elif name["names"]:
        found = _inside(_module(name["module"]), name["names"])
    else:
        found = _dotted(text)
    _refuse_what_is_no_op(found, text)
    return found


def _evaluated(text: str) -> Any:
    try:
        return eval(text, {"torch": torch, "F": torch.nn.functional})
    except Exception as error:
        raise SpellingError(
            f"{text!r} is neither a name (module:name) nor an expression of "
            f"torch and F: {type(error).__name__}: {error}"
        ) from error


def _module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise _import_fails(name, error) from error
        way_out = "it is looked for in this folder and on PYTHONPATH"
        if name.endswith(".py"):
            way_out = f"write {name.removesuffix('.py')!r}"
        raise SpellingError(
            f"there is no module {name!r}; {way_out}"
        ) from error
    except Exception as error:
        raise _import_fails(name, error) from error


def _import_fails(name: str, error: Exception) -> SpellingError:
    return SpellingError(
        f"the module {name!r} cannot be imported: "
        f"{type(error).__name__}: {error}; see `python -c 'import {name}'`"
    )


def _dotted(text: str) -> Any:
    """What a name with dots stands for: a module's, or one of a class."""
    if text.startswith("F."):
        text = f"torch.nn.functional{text[1:]}"
    module, dot, names = text.rpartition(".")
    if not dot:
        raise SpellingError(
            f"{text!r} names no module; write module:{text}, or a dotted name"
        )
    try:
        return pkgutil.resolve_name(text)
    except Exception:
        # Again, for the message.
        return _inside(_module(module), names)


def _inside(owner: Any, names: str) -> Any:
    for name in names.split("."):
        if not hasattr(owner, name):
            raise SpellingError(_missing(owner, name))
        owner = getattr(owner, name)
    return owner


def _missing(owner: Any, name: str) -> str:
    near = difflib.get_close_matches(name, dir(owner), n=3)
    way_out = f"did you mean {' or '.join(near)}?" if near else "is it there?"
    return f"{_words(owner)} has no {name!r}; {way_out}"


def _words(owner: Any) -> str:
    name = getattr(owner, "__name__", repr(owner))
    return f"the module {name!r}" if inspect.ismodule(owner) else repr(name)


def _refuse_what_is_no_op(found: Any, text: str) -> None:
    if isinstance(found, type):
        way_out = "name an instance of it, or a function"
        if issubclass(found, torch.autograd.Function):
            way_out = f"name its {text}.apply"
        raise SpellingError(f"{text!r} is a class, not an op; {way_out}")
    if type(found).__module__.startswith("triton."):
        raise SpellingError(
            f"{text!r} is a kernel; name the function that launches it"
        )
    if not callable(found):
        kind = type(found).__name__
        raise SpellingError(
            f"{text!r} cannot be called: it is of type {kind}"
        )
