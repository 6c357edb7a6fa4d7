"""Memory that an op gets uninitialized, filled so that it shows.

`torch.empty` mostly returns what was freed before: often the right result of
the call before, or zeros. An element that an op never writes is then right by
luck.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any

import torch
from torch import Tensor

# What Python code calls for uninitialized memory, and where it looks it up.
MAKERS: tuple[tuple[Any, str], ...] = (
    (torch, "empty"),
    (torch, "empty_like"),
    (torch, "empty_permuted"),
    (torch, "empty_strided"),
    (Tensor, "new_empty"),
    (Tensor, "new_empty_strided"),
)
# The dtypes that can be filled; others hold less than a byte.
WITH_NAN = frozenset(
    (
        *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
        *(torch.complex32, torch.complex64, torch.complex128),
        *(torch.float8_e4m3fn, torch.float8_e4m3fnuz),
        *(torch.float8_e5m2, torch.float8_e5m2fnuz, torch.float8_e8m0fnu),
    )
)
INTEGERS = frozenset(
    (
        *(torch.int8, torch.int16, torch.int32, torch.int64),
        *(torch.uint8, torch.uint16, torch.uint32, torch.uint64),
    )
)
# Where nothing else sees an access past the end. On the interpreter `watch`
# does, however far it reaches.
FENCED_DEVICES = frozenset(("cuda",))
# A multiple of what allocators align to, so that a tensor stays aligned.
FENCE_BYTES = 4096
FENCE_PATTERN = 0xA5
# By its lower bits it is told from a NaN that an op computes.
MARKED_NANS = {
    torch.float16: (torch.int16, 0x7EAD),
    torch.bfloat16: (torch.int16, 0x7FED),
    torch.float32: (torch.int32, 0x7FC0DEAD),
    torch.float64: (torch.int64, 0x7FF80000DEADDEAD),
}


class PoisonError(RuntimeError):
    """Memory cannot be filled: that is no fault of the op's."""


@dataclass(frozen=True)
class Overrun:
    """A fence that was written to.

    Distances are in the tensor's elements: 1 is right behind its storage, -1
    right before.

    Attributes:
        shape: The shape of the tensor between the fences.
        dtype: Its dtype, as PyTorch writes it.
        least: The smallest distance at which something was written.
        most: The largest.
    """

    shape: tuple[int, ...]
    dtype: str
    least: int
    most: int


@dataclass(frozen=True)
class Fence:
    """The memory of a tensor, with a pattern before and behind it."""

    memory: Tensor
    shape: tuple[int, ...]
    dtype: torch.dtype

    def overrun(self) -> Overrun | None:
        """Where the pattern is broken, if it is."""
        spoiled = self.memory != FENCE_PATTERN
        spoiled[FENCE_BYTES:-FENCE_BYTES] = False
        bytes_hit = spoiled.nonzero().flatten()
        if bytes_hit.numel() == 0:
            return None
        end = self.memory.numel() - 2 * FENCE_BYTES
        places = (bytes_hit - FENCE_BYTES).tolist()
        size = self.dtype.itemsize
        distances = [
            place // size if place < 0 else (place - end) // size + 1
            for place in places
        ]
        return Overrun(
            self.shape, str(self.dtype), min(distances), max(distances)
        )


class Poison:
    """Fills what comes uninitialized, and remembers its fences."""

    def __init__(self) -> None:
        self.fences: list[Fence] = []

    def poisoning(
        self, maker: Callable[..., Tensor]
    ) -> Callable[..., Tensor]:
        """What to call instead of one of PyTorch's functions."""

        @wraps(maker)
        def make(*args: Any, **kwargs: Any) -> Tensor:
            tensor = maker(*args, **kwargs)
            if tensor.layout != torch.strided:
                return tensor
            fenced = tensor.device.type in FENCED_DEVICES
            try:
                with torch.no_grad():
                    if fenced and kwargs.get("out") is None:
                        tensor = self.fenced(tensor)
                    spoil(tensor)
            except Exception as error:
                raise PoisonError("memory cannot be filled") from error
            return tensor

        return make

    def fenced(self, tensor: Tensor) -> Tensor:
        """A tensor like it, between fences.

        It has a storage of its own that begins and ends where that of the
        given tensor would.
        """
        size = tensor.untyped_storage().nbytes()
        if size == 0:
            return tensor
        memory = torch.full(
            (size + 2 * FENCE_BYTES,),
            FENCE_PATTERN,
            dtype=torch.uint8,
            device=tensor.device,
        )
        # Exchanged, a slice becomes a tensor that knows nothing of the rest.
        # PyTorch exchanges memory of the current GPU only.
        with torch.cuda.device_of(memory):
            between = torch.from_dlpack(memory[FENCE_BYTES:-FENCE_BYTES])
        copy = torch.tensor([], dtype=tensor.dtype, device=tensor.device)
        copy.set_(between.untyped_storage(), 0, tensor.shape, tensor.stride())
        fence = Fence(memory, tuple(tensor.shape), tensor.dtype)
        self.fences.append(fence)
        return copy.requires_grad_(tensor.requires_grad)

    def overruns(self) -> tuple[Overrun, ...]:
        """Which fences were written to, up to now.

        Always empty where there are none: they are around CUDA tensors only.
        """
        found = (fence.overrun() for fence in self.fences)
        return tuple(overrun for overrun in found if overrun)


@contextmanager
def poisoned() -> Iterator[Poison]:
    """Fill all uninitialized tensors that Python code gets while it is open.

    Floating-point tensors are filled with NaN, integers with their smallest
    value, unsigned ones with their largest; booleans and dtypes of less than
    a byte are left alone. That holds for `torch.empty`, `torch.empty_like`,
    `torch.empty_strided`, `torch.empty_permuted`, `Tensor.new_empty` and
    `Tensor.new_empty_strided` by these very names, also in a Function's
    forward and backward. What PyTorch's own kernels allocate is not touched.
    On a GPU the tensors lie between fences, which `Poison.overruns` looks at.

    It is not for code under `torch.compile`.

    Yields:
        What knows the fences.
    """
    poison = Poison()
    with ExitStack() as stack:
        # Not a TorchFunctionMode: it is off in a backward, which
        # torch.autograd.grad runs as a function that the mode handles.
        for owner, name in MAKERS:
            if name in vars(owner):
                stack.callback(setattr, owner, name, getattr(owner, name))
            else:  # inherited from a class written in C
                stack.callback(delattr, owner, name)
            setattr(owner, name, poison.poisoning(getattr(owner, name)))
        yield poison


def spoil(tensor: Tensor) -> None:
    """Fill a tensor with what no right result is."""
    if tensor.dtype in MARKED_NANS:
        integers, bits = MARKED_NANS[tensor.dtype]
        tensor.view(integers).fill_(bits)
    elif tensor.dtype in WITH_NAN:
        tensor.fill_(math.nan)
    elif tensor.dtype in INTEGERS:
        info = torch.iinfo(tensor.dtype)
        tensor.fill_(info.min if info.min < 0 else info.max)


def is_poison(tensor: Tensor) -> Tensor:
    """Which elements still hold what `poisoned` filled them with.

    An operation on such a NaN may give it again, so that they may also have
    been computed of it.
    """
    values = tensor.detach()
    if values.dtype in MARKED_NANS:
        integers, bits = MARKED_NANS[values.dtype]
        return values.view(integers) == bits
    if values.dtype in (torch.int32, torch.int64):
        return values == torch.iinfo(values.dtype).min
    return torch.zeros_like(values, dtype=torch.bool)
