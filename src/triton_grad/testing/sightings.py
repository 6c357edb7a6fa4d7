"""What a watched kernel was seen doing, in plain records."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

Access = Literal["load", "store", "atomic"]
Mask = NDArray[numpy.bool_]
Program = tuple[int, int, int]


@dataclass(frozen=True)
class Site:
    """A line of a kernel.

    Attributes:
        file: The source file.
        line: The line's number, from 1.
        text: The line itself, without its indentation.
    """

    file: str
    line: int
    text: str


@dataclass(frozen=True)
class Fault:
    """Lanes of one line that lay outside the tensor they were meant for.

    Distances are in the tensor's elements and signed: 1 is the element right
    behind the last, -1 the one right before the first, 0 one in between.

    Attributes:
        kernel: The kernel's name.
        parameter: The kernel's parameter whose pointer it was.
        access: What was tried.
        site: The line that tried it.
        least: The smallest distance from the view's elements.
        most: The largest.
        storage_least: The smallest distance from the view's storage.
        storage_most: The largest; where both are 0 the access was done,
            elsewhere it was switched off.
        lanes: How many lanes, over all programs and launches.
        program: The program id of the first of them.
        tensor: The tensor in words.
    """

    kernel: str
    parameter: str
    access: Access
    site: Site
    least: int
    most: int
    storage_least: int
    storage_most: int
    lanes: int
    program: Program
    tensor: str


@dataclass(frozen=True)
class UndefinedLoad:
    """A masked load without `other`, some of whose lanes were off.

    Attributes:
        kernel: The kernel's name.
        parameter: The parameter loaded from, or "" if no lane was on.
        site: The line of the load.
        lanes: How many lanes were off, over all programs and launches.
    """

    kernel: str
    parameter: str
    site: Site
    lanes: int


@dataclass(frozen=True)
class Race:
    """Two programs that met at one element, at least one with a plain store.

    On a GPU either may come first. `other` is the one that came first here.

    Attributes:
        kernel: The kernel's name.
        parameter: The parameter by which the later access came.
        element: The first such element, counted in memory from the first of
            the parameter's tensor.
        site: The line of the later access.
        other_site: The line of the earlier one.
        access: What the later one did.
        other_access: What the earlier one did.
        program: The program id of the later one.
        other_program: The program id of the earlier one.
        elements: How many elements, over all programs and launches.
    """

    kernel: str
    parameter: str
    element: int
    site: Site
    other_site: Site
    access: Access
    other_access: Access
    program: Program
    other_program: Program
    elements: int


@dataclass(frozen=True)
class Wrap:
    """An offset that a large program id makes too large for 32 bits.

    Attributes:
        kernel: The kernel's name.
        parameter: The parameter to whose pointer it is added.
        site: The line that adds it.
        axis: The axis of the program id.
        program: The program id, the smallest at which it was seen.
        programs: How many programs this launch had along the axis.
        meant: The offset as 64 bits hold it, in elements.
        addressed: The offset that came out.
    """

    kernel: str
    parameter: str
    site: Site
    axis: int
    program: int
    programs: int
    meant: int
    addressed: int


@dataclass(frozen=True)
class TensorUse:
    """A tensor given to a launch, and what the launch did with it.

    Attributes:
        parameter: The kernel's parameter; "xs[1]" in a tuple.
        shape: The tensor's shape.
        strides: Its strides, in elements.
        offset: Its first element's place in the storage.
        dtype: Its dtype, as PyTorch writes it.
        storage_size: How many elements the storage holds.
        loaded: Which elements of the storage were read.
        stored: Which were written; an atomic does both.
    """

    parameter: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    dtype: str
    storage_size: int
    loaded: Mask
    stored: Mask

    @property
    def is_loaded(self) -> bool:
        """Whether anything was read."""
        return bool(self.loaded.any())

    @property
    def is_stored(self) -> bool:
        """Whether anything was written."""
        return bool(self.stored.any())

    @property
    def view(self) -> Mask:
        """Which elements of the storage are the tensor's."""
        elements = numpy.zeros(self.storage_size, dtype=bool)
        self.seen_through(elements)[...] = True
        return elements

    def loaded_elements(self) -> Mask:
        """Which of the tensor's elements were read, in its shape."""
        return self.seen_through(self.loaded).copy()

    def stored_elements(self) -> Mask:
        """Which of the tensor's elements were written, in its shape."""
        return self.seen_through(self.stored).copy()

    def seen_through(self, elements: Mask) -> Mask:
        """A mask over the storage's elements as the tensor lies in it."""
        steps = tuple(step * elements.itemsize for step in self.strides)
        return as_strided(elements[self.offset :], self.shape, steps)


@dataclass(frozen=True)
class Launch:
    """One launch of a kernel.

    Attributes:
        kernel: The kernel's name.
        grid: How many programs along each axis.
        tensors: What it was given.
        trial: Whether it was one of autotune's trials.
    """

    kernel: str
    grid: Program
    tensors: tuple[TensorUse, ...]
    trial: bool


@dataclass(frozen=True)
class Autotuned:
    """A kernel of which autotune tried several configs.

    Attributes:
        kernel: The kernel's name.
        configs: How many.
    """

    kernel: str
    configs: int


class Watch:
    """What was seen while `watch()` was open.

    Attributes:
        possible: Whether kernels could be watched; with compiled ones
            nothing is, and all below stays empty.
    """

    def __init__(self, possible: bool) -> None:
        self.possible = possible
        self._faults: dict[tuple[object, ...], Fault] = {}
        self._gap_loads: dict[tuple[object, ...], Fault] = {}
        self._undefined: dict[tuple[object, ...], UndefinedLoad] = {}
        self._races: dict[tuple[object, ...], Race] = {}
        self._wraps: dict[tuple[object, ...], Wrap] = {}
        self._launches: list[Launch] = []
        self._autotuned: list[Autotuned] = []

    @property
    def faults(self) -> tuple[Fault, ...]:
        """Accesses outside of a tensor, one a line, kind and parameter."""
        return tuple(self._faults.values())

    @property
    def gap_loads(self) -> tuple[Fault, ...]:
        """Loads from a view's storage that are not of the view's elements."""
        return tuple(self._gap_loads.values())

    @property
    def undefined_loads(self) -> tuple[UndefinedLoad, ...]:
        """Masked loads without `other` that had lanes off."""
        return tuple(self._undefined.values())

    @property
    def races(self) -> tuple[Race, ...]:
        """Pairs of lines by which programs met, one a pair and parameter."""
        return tuple(self._races.values())

    @property
    def wraps(self) -> tuple[Wrap, ...]:
        """Offsets too narrow for a large grid, one a line and axis."""
        return tuple(self._wraps.values())

    @property
    def launches(self) -> tuple[Launch, ...]:
        """Every launch, in order, autotune's trials among them."""
        return tuple(self._launches)

    @property
    def autotuned(self) -> tuple[Autotuned, ...]:
        """The launches for which autotune tried several configs."""
        return tuple(self._autotuned)

    def add_fault(self, fault: Fault) -> None:
        """Note lanes outside, with those of the same line and kind."""
        merge_fault(self._faults, fault)

    def add_gap_load(self, fault: Fault) -> None:
        """Note lanes that were read between a view's elements."""
        merge_fault(self._gap_loads, fault)

    def add_undefined(self, load: UndefinedLoad) -> None:
        """Note lanes without a value, with those of the same line."""
        key = (load.kernel, load.parameter, load.site)
        old = self._undefined.get(key)
        lanes = load.lanes + (old.lanes if old else 0)
        self._undefined[key] = replace(load, lanes=lanes)

    def add_race(self, race: Race) -> None:
        """Note a race, with those of the same two lines."""
        key = (race.kernel, race.parameter, race.site, race.other_site)
        old = self._races.get(key)
        if old:
            race = replace(old, elements=old.elements + race.elements)
        self._races[key] = race

    def add_wrap(self, wrap: Wrap) -> None:
        """Note an offset that wraps, unless its line is noted."""
        key = (wrap.kernel, wrap.parameter, wrap.site, wrap.axis)
        self._wraps.setdefault(key, wrap)

    def add_launch(self, launch: Launch) -> None:
        """Note a launch."""
        self._launches.append(launch)

    def add_autotuned(self, autotuned: Autotuned) -> None:
        """Note an autotuned launch."""
        self._autotuned.append(autotuned)


def merge_fault(faults: dict[tuple[object, ...], Fault], new: Fault) -> None:
    """Add a fault to those of the same line, kind and parameter.

    What was done and what was switched off stay apart.
    """
    done = new.storage_least == new.storage_most == 0
    key = (new.kernel, new.parameter, new.access, new.site, done)
    old = faults.get(key, new)
    faults[key] = replace(
        old,
        least=min(old.least, new.least),
        most=max(old.most, new.most),
        storage_least=min(old.storage_least, new.storage_least),
        storage_most=max(old.storage_most, new.storage_most),
        lanes=new.lanes + (0 if old is new else old.lanes),
    )
