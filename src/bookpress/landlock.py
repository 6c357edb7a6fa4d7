"""Let a process write below some folders only, by Linux's Landlock.

The kernel refuses, so it holds for C code and for child processes too.
"""

import ctypes
import os
import struct
from collections.abc import Iterable

# System calls; these numbers are the same on every architecture.
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
ASK_FOR_VERSION = 1
VERSION_WITH_TRUNCATE = 3
PATH_BENEATH = 1
PR_SET_NO_NEW_PRIVS = 38
# Write to a file (bit 1); remove, make and move files (4 to 13); truncate.
CHANGES = 1 << 1 | 0b11_1111_1111 << 4 | 1 << 14


def _call(number: int, *arguments: object) -> int:
    result = ctypes.CDLL(None, use_errno=True).syscall(number, *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"Landlock: {os.strerror(code)}")
    return result


def can_lock() -> bool:
    """Whether this kernel can do what is needed here."""
    try:
        size = ctypes.c_size_t(0)
        version = _call(CREATE_RULESET, None, size, ASK_FOR_VERSION)
    except OSError:
        return False
    return version >= VERSION_WITH_TRUNCATE


def write_only_below(folders: Iterable[str]) -> None:
    """From now on this process, and what it starts, can write there only."""
    handled = struct.pack("Q", CHANGES)
    rules = _call(CREATE_RULESET, handled, ctypes.c_size_t(len(handled)), 0)
    for folder in folders:
        beneath = os.open(folder, os.O_PATH | os.O_CLOEXEC)
        rule = struct.pack("=Qi", CHANGES, beneath)
        _call(ADD_RULE, rules, PATH_BENEATH, rule, 0)
        os.close(beneath)
    # Without it only root may lock itself.
    ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _call(RESTRICT_SELF, rules, 0)
    os.close(rules)
