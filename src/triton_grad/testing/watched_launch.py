"""The bookkeeping of one watched launch: bounds, marks and races."""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

import numpy
from numpy.typing import NDArray
from torch import Tensor

from triton_grad.testing.arena import (
    SPACING,
    VIRTUAL,
    Addresses,
    Arena,
    Integers,
    Memory,
)
from triton_grad.testing.sightings import (
    Access,
    Fault,
    Launch,
    Mask,
    Program,
    Race,
    Site,
    UndefinedLoad,
    Watch,
)

# A process's own memory lies below: a kernel may have read such an address
# from a tensor of pointers.
REAL_END = numpy.uint64(1 << 47)


@dataclass(frozen=True)
class Event:
    """One load, store or atomic of one program."""

    access: Access
    site: Site
    program: Program


@dataclass(frozen=True)
class Lanes:
    """An access as memory may be given it.

    Attributes:
        addresses: The real addresses.
        mask: The lanes that are on and within bounds.
        lost: The lanes that were on and out of bounds.
    """

    addresses: Addresses
    mask: Mask
    lost: Mask


class WatchedLaunch:
    """One launch, from its arguments to its last program."""

    def __init__(self, watch: Watch, kernel: str, trial: bool) -> None:
        self.watch = watch
        self.kernel = kernel
        self.trial = trial
        self.grid: Program = (0, 0, 0)
        self.program: Program = (0, 0, 0)
        self.arenas: list[Arena] = []
        self.events: list[Event] = []
        self.starts: list[int] = [0]
        self.atomics: list[tuple[int, Addresses]] = []

    def open_arenas(self, tensors: Iterable[tuple[str, Tensor]]) -> None:
        """Give each argument a range of addresses, by its name."""
        named = list(tensors)
        smallest: dict[int, int] = {}
        for _, tensor in named:
            start = tensor.untyped_storage().data_ptr()
            size = tensor.element_size()
            smallest[start] = min(size, smallest.get(start, size))
        memories = {
            tensor.untyped_storage().data_ptr(): Memory(
                tensor.untyped_storage().nbytes(),
                smallest[tensor.untyped_storage().data_ptr()],
            )
            for _, tensor in named
        }
        for name, tensor in named:
            memory = memories[tensor.untyped_storage().data_ptr()]
            self.arenas.append(Arena(name, tensor, memory, len(self.arenas)))

    def start_program(self, program: Program) -> None:
        """From here on it is this program that runs."""
        self.program = program
        self.starts.append(len(self.events))

    def record(self) -> Launch:
        """What there is to keep of the launch."""
        uses = tuple(arena.use for arena in self.arenas)
        return Launch(self.kernel, self.grid, uses, self.trial)

    def nearest(self, addresses: Addresses) -> Integers:
        """The slots of the arenas that virtual addresses are meant for."""
        slots = (addresses // numpy.uint64(SPACING)).astype(numpy.int64)
        return (slots - VIRTUAL // SPACING).clip(0, len(self.arenas) - 1)

    def parameter_at(self, address: int) -> str:
        """The parameter that a virtual address is meant for, or ""."""
        if address < REAL_END or not self.arenas:
            return ""
        addresses = numpy.array([address], dtype=numpy.uint64)
        return self.arenas[self.nearest(addresses)[0]].parameter

    def access(
        self,
        access: Access,
        site: Site,
        addresses: Addresses,
        mask: Mask,
        width: int,
        values: NDArray[numpy.generic] | None = None,
    ) -> Lanes:
        """Translate an access of `width` bytes a lane, and keep book of it.

        Args:
            access: What is about to be done.
            site: The line that does it.
            addresses: The pointers, virtual or real.
            mask: The lanes that are on, in the pointers' shape.
            width: Bytes a lane.
            values: What a store writes, in the pointers' shape.
        """
        self.events.append(Event(access, site, self.program))
        flat = addresses.reshape(-1)
        active = mask.reshape(-1) & (flat >= REAL_END)
        real = flat.copy()
        lost = numpy.zeros(flat.shape, dtype=bool)
        slots = self.nearest(flat)
        for slot in numpy.unique(slots[active]):
            arena = self.arenas[slot]
            lanes = numpy.flatnonzero(active & (slots == slot))
            offsets = arena.offsets(flat[lanes])
            inside = arena.in_storage(offsets, width)
            self.tell_outside(arena, offsets, inside)
            lost[lanes[~inside]] = True
            lanes, offsets = lanes[inside], offsets[inside]
            real[lanes] = numpy.uint64(arena.real) + offsets.view(
                numpy.uint64
            )
            new = None if values is None else values.reshape(-1)[lanes]
            self.touch(arena, offsets, width, new)
        lost = lost.reshape(addresses.shape)
        real = real.reshape(addresses.shape)
        kept = mask & ~lost
        if access == "atomic":
            self.atomics.append((len(self.events) - 1, real[kept]))
        return Lanes(real, kept, lost)

    def tell_outside(
        self, arena: Arena, offsets: Integers, inside: Mask
    ) -> None:
        """Tell of lanes outside the storage, then of those in its gaps."""
        if not inside.all():
            self.watch.add_fault(self.fault(arena, offsets[~inside]))
        within = offsets[inside]
        in_view = arena.in_view(within)
        if not in_view.all():
            fault = self.fault(arena, within[~in_view])
            if fault.access == "load":
                self.watch.add_gap_load(fault)
            else:
                self.watch.add_fault(fault)

    def fault(self, arena: Arena, offsets: Integers) -> Fault:
        """The current access, as far as its lanes at offsets go."""
        event = self.events[-1]
        view = arena.outside_view(offsets)
        storage = arena.outside_storage(offsets)
        return Fault(
            kernel=self.kernel,
            parameter=arena.parameter,
            access=event.access,
            site=event.site,
            least=int(view.min()),
            most=int(view.max()),
            storage_least=int(storage.min()),
            storage_most=int(storage.max()),
            lanes=offsets.size,
            program=self.program,
            tensor=arena.words,
        )

    def touch(
        self,
        arena: Arena,
        offsets: Integers,
        width: int,
        values: NDArray[numpy.generic] | None,
    ) -> None:
        """Mark what the current access touches, and look who was there."""
        access = self.events[-1].access
        if access != "store":
            arena.mark(arena.use.loaded, offsets, width)
        if access != "load":
            arena.mark(arena.use.stored, offsets, width)
        memory = arena.memory
        units = memory.units(offsets, width)
        self.meet(arena, units, memory.stored[units], offsets, values)
        now = len(self.events) - 1
        if access == "store":
            self.meet(arena, units, memory.loaded[units], offsets, values)
            memory.stored[units] = now
        else:
            untouched = units[memory.loaded[units] < 0]
            memory.loaded[untouched] = now

    def meet(
        self,
        arena: Arena,
        units: Integers,
        stamps: Integers,
        offsets: Integers,
        values: NDArray[numpy.generic] | None,
    ) -> None:
        """Tell of the lanes that another program touched before."""
        met = (stamps >= 0) & (stamps < self.starts[-1])
        if not met.any():
            return
        if values is not None:  # the same value once more does no harm
            met &= arena.differs(offsets, values)[:, None]
        for stamp in numpy.unique(stamps[met]):
            if not self.is_ordered(int(stamp)):
                lanes = (met & (stamps == stamp)).any(axis=1)
                self.tell_race(arena, int(stamp), offsets[lanes])

    def tell_race(self, arena: Arena, stamp: int, offsets: Integers) -> None:
        """Tell that the current access met the one at the stamp."""
        event, other = self.events[-1], self.events[stamp]
        first = int(offsets.min()) // arena.itemsize - arena.first
        self.watch.add_race(
            Race(
                kernel=self.kernel,
                parameter=arena.parameter,
                element=first,
                site=event.site,
                other_site=other.site,
                access=event.access,
                other_access=other.access,
                program=self.program,
                other_program=other.program,
                elements=offsets.size,
            )
        )

    def is_ordered(self, stamp: int) -> bool:
        """Whether atomics put this access after the one at the stamp.

        They do as a lock or a counter does: the other program's atomic came
        after its access, and one of this program's, at the same address,
        came before its own.
        """
        start = self.starts[-1]
        end = self.starts[bisect_right(self.starts, stamp)]
        theirs = [at for when, at in self.atomics if stamp < when < end]
        ours = [at for when, at in self.atomics if start <= when]
        if not theirs or not ours:
            return False
        shared = numpy.isin(
            numpy.concatenate(ours), numpy.concatenate(theirs)
        )
        return bool(shared.any())

    def add_undefined(
        self, site: Site, addresses: Addresses, off: int
    ) -> None:
        """Tell of a load whose lanes that are off have no value."""
        parameter = self.parameter_at(int(addresses.flat[0]))
        self.watch.add_undefined(
            UndefinedLoad(self.kernel, parameter, site, off)
        )
