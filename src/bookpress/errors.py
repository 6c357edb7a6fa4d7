"""The one exception of the press, and the words that help out of it."""

import difflib
from collections.abc import Iterable


class PressError(Exception):
    """Something in the book is wrong; the message says what to do."""


def nearest(name: str, valid: Iterable[str]) -> str:
    """The end of an error message: the valid name that is meant, probably."""
    names = sorted(valid)
    found = difflib.get_close_matches(name, names, n=1, cutoff=0.4)
    if found:
        return f"did you mean {found[0]!r}?"
    return "valid: " + ", ".join(names) if names else "there is none"
