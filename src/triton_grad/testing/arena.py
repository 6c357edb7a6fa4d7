"""Where the arguments of a watched launch lie, and who touched them when.

While it is watched a kernel gets virtual pointers: every argument has a range
of addresses of its own, far from any other's. So each access tells by its
address which argument it was meant for, however far off it is, and even where
two arguments share memory. Before memory is touched the address is translated
into the real one; nothing is copied.
"""

from dataclasses import dataclass, field

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor

from triton_grad.testing.sightings import Mask, TensorUse

Addresses = NDArray[numpy.uint64]
Integers = NDArray[numpy.int64]

# No real address is so large, and no offset is: 2**31 programs of 2**16
# elements of 8 bytes stay within half of what lies between two arguments.
VIRTUAL = 1 << 60
SPACING = 1 << 52
# Triton's descriptors want aligned bases: a virtual one is aligned as the
# real one is.
ALIGNMENT = 256


class Memory:
    """One storage, and for each of its units the stamps of who touched it.

    A stamp is the launch's clock at the access. Programs run one after the
    other, so a stamp from before the program's start is another program's.
    """

    def __init__(self, size: int, unit: int) -> None:
        self.unit = unit
        # -1: not yet. The last plain store; the first load or atomic.
        self.stored = numpy.full(-(-size // unit), -1, dtype=numpy.int64)
        self.loaded = self.stored.copy()

    def units(self, offsets: Integers, width: int) -> Integers:
        """The units that lanes of `width` bytes at byte offsets cover.

        One row a lane.
        """
        count = numpy.arange(max(1, width // self.unit))
        return (offsets // self.unit)[:, None] + count


@dataclass
class Arena:
    """One argument's range of virtual addresses.

    Attributes:
        parameter: The kernel's parameter.
        tensor: The argument, on the CPU.
        memory: Its storage's stamps.
        slot: Its place among the launch's arguments.
        use: The record of what was touched.
    """

    parameter: str
    tensor: Tensor
    memory: Memory
    slot: int
    use: TensorUse = field(init=False)

    def __post_init__(self) -> None:
        tensor = self.tensor
        storage = tensor.untyped_storage()
        self.itemsize = tensor.element_size()
        self.nbytes = storage.nbytes()
        self.real = storage.data_ptr()
        self.start = (
            VIRTUAL
            + self.slot * SPACING
            + SPACING // 2
            + self.real % ALIGNMENT
        )
        elements = self.nbytes // self.itemsize
        self.use = TensorUse(
            parameter=self.parameter,
            shape=tuple(tensor.shape),
            strides=tensor.stride(),
            offset=int(tensor.storage_offset()),
            dtype=str(tensor.dtype),
            storage_size=elements,
            loaded=numpy.zeros(elements, dtype=bool),
            stored=numpy.zeros(elements, dtype=bool),
        )
        whole = tensor.is_contiguous() and tensor.numel() == elements
        self.view = None if whole else self.use.view
        self.first = self.use.offset
        steps = zip(tensor.shape, tensor.stride(), strict=True)
        reach = sum((size - 1) * step for size, step in steps)
        self.last = self.first + (reach if tensor.numel() else -1)

    @property
    def pointer(self) -> int:
        """The virtual address of the argument's first element."""
        return self.start + self.first * self.itemsize

    @property
    def words(self) -> str:
        """The tensor in words."""
        kind = str(self.tensor.dtype).removeprefix("torch.")
        shape = tuple(self.tensor.shape)
        if self.tensor.is_contiguous():
            return f"{kind}{shape}"
        return f"{kind}{shape} with strides {self.tensor.stride()}"

    def offsets(self, addresses: Addresses) -> Integers:
        """Signed bytes from the storage's start, for virtual addresses."""
        return (addresses - numpy.uint64(self.start)).view(numpy.int64)

    def in_storage(self, offsets: Integers, width: int) -> Mask:
        """Which lanes lie wholly within the storage."""
        return (offsets >= 0) & (offsets + width <= self.nbytes)

    def in_view(self, offsets: Integers) -> Mask:
        """Which lanes, all of them in the storage, hit the view's elements.

        The last bytes of a storage may be too few for an element.
        """
        if self.view is None:
            return numpy.ones(offsets.shape, dtype=bool)
        elements = offsets // self.itemsize
        last = self.view.size - 1
        return (elements <= last) & self.view[elements.clip(max=last)]

    def outside_view(self, offsets: Integers) -> Integers:
        """Signed distances from the view, in elements; 0 between its ends."""
        return outside(offsets // self.itemsize, self.first, self.last)

    def outside_storage(self, offsets: Integers) -> Integers:
        """Signed distances from the storage, in elements."""
        last = self.nbytes // self.itemsize - 1
        return outside(offsets // self.itemsize, 0, last)

    def differs(
        self, offsets: Integers, values: NDArray[numpy.generic]
    ) -> Mask:
        """Which values are not, bit for bit, what the storage holds."""
        width = values.itemsize
        new = numpy.ascontiguousarray(values).view(numpy.uint8)
        held = torch.empty(0, dtype=torch.uint8).set_(
            self.tensor.untyped_storage()
        )
        old = held.numpy()[offsets[:, None] + numpy.arange(width)]
        return (old != new.reshape(-1, width)).any(axis=1)

    def mark(self, marks: Mask, offsets: Integers, width: int) -> None:
        """Mark what lanes cover in one of the use's masks."""
        count = numpy.arange(max(1, width // self.itemsize))
        elements = (offsets // self.itemsize)[:, None] + count
        marks[elements.clip(max=marks.size - 1)] = True


def outside(elements: Integers, first: int, last: int) -> Integers:
    """How far elements lie behind last (positive) or before first."""
    behind = numpy.maximum(elements - last, 0)
    return behind + numpy.minimum(elements - first, 0)
