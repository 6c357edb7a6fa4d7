"""Memory that an op gets uninitialized, filled so that it shows.

`torch.empty` mostly returns what was freed before: often the right result of
the call before, or zeros. An element that an op never writes is then right by
luck.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

MAKERS = frozenset(
    (
        torch.empty,
        torch.empty_like,
        torch.empty_permuted,
        torch.empty_strided,
        Tensor.new_empty,
        Tensor.new_empty_strided,
    )
)
# Where nothing else sees an access past the end. On the interpreter `watch`
# does, however far it reaches.
FENCED_DEVICES = frozenset(("cuda",))
# A multiple of what allocators align to, so that a tensor stays aligned.
FENCE_BYTES = 4096
FENCE_PATTERN = 0xA5


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


class Poison(TorchFunctionMode):
    """Fills what comes uninitialized, and remembers its fences."""

    def __init__(self) -> None:
        super().__init__()
        self.fences: list[Fence] = []

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        result = func(*args, **kwargs or {})
        if func not in MAKERS or result.layout != torch.strided:
            return result
        if result.device.type in FENCED_DEVICES and "out" not in (
            kwargs or {}
        ):
            result = self.fenced(result)
        with torch.no_grad():
            spoil(result)
        return result

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
        between = torch.from_dlpack(memory[FENCE_BYTES:-FENCE_BYTES])
        copy = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
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
    value, unsigned ones with their largest; booleans are left alone. That
    holds for `torch.empty`, `empty_like`, `empty_strided`, `empty_permuted`,
    `Tensor.new_empty` and `new_empty_strided`, also in a Function's forward
    and backward. What PyTorch's own kernels allocate is not touched. On a GPU
    the tensors lie between fences, which `Poison.overruns` looks at.

    It is not for code under `torch.compile`.

    Yields:
        What knows the fences.
    """
    with Poison() as poison:
        yield poison


def spoil(tensor: Tensor) -> None:
    """Fill a tensor with what no right result is."""
    dtype = tensor.dtype
    if dtype.is_floating_point or dtype.is_complex:
        tensor.fill_(math.nan)
    elif dtype != torch.bool:
        info = torch.iinfo(dtype)
        tensor.fill_(info.min if info.min < 0 else info.max)
