"""Triton's interpreter, watched: what a kernel touches, and what it must not.

All that touches the interpreter's private parts stands in this file and in
`interpreter_bfloat16.py`. It works with triton 3.6 to 3.9, and says which
part is gone where it does not.
"""

import contextlib
import copy
import io
import linecache
import math
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from inspect import getcallargs
from pathlib import Path
from types import FrameType
from typing import Any, Literal

import numpy
import triton
import triton.language as tl
from numpy.typing import NDArray
from torch import Tensor
from triton.language.semantic import TritonSemantic
from triton.runtime import interpreter
from triton.runtime.autotuner import Autotuner
from triton.runtime.interpreter import (
    GridExecutor,
    InterpreterBuilder,
    ReduceScanOpInterface,
    TensorHandle,
)
from triton.runtime.jit import TensorWrapper
from triton.tools.tensor_descriptor import TensorDescriptor

from triton_grad.device import INTERPRETED
from triton_grad.testing.interpreter_bfloat16 import (
    COMPUTING,
    Method,
    casting,
    computing_in_float32,
    get_bf16,
    reducing,
)
from triton_grad.testing.sightings import (
    Autotuned,
    Program,
    Site,
    Watch,
    Wrap,
)
from triton_grad.testing.watched_launch import WatchedLaunch

NOT_A_KERNEL = (str(Path(triton.__file__).parent), str(Path(__file__)))
# do_bench runs a kernel many times; the second run is the one that tells.
RUNS_IN_A_TRIAL = 2
# The largest powers of two that a grid takes along x; y and z take 2**16 - 1.
LARGEST_PROGRAM = (1 << 30, (1 << 16) - 1, (1 << 16) - 1)
WRAPS_AT = 1 << 32
# A loop whose length depends on the program id must end some time.
DRY_STEPS = 2000


@contextlib.contextmanager
def watch(
    *,
    undefined: Literal["wild", "zero"] = "wild",
    huge: bool = False,
    autotune: Literal["trials", "first"] = "trials",
) -> Iterator[Watch]:
    """Watch every kernel that the interpreter runs while this is open.

    A right kernel's results are those it has unwatched, bit for bit, but for
    bfloat16, which is rounded as a GPU rounds it, and for tl.maximum and
    tl.minimum, which drop NaN unless told otherwise. An access out of bounds
    is switched off: a load gives NaN or a large integer, a store nothing.

    Args:
        undefined: What a masked load without `other` gives where its mask is
            off: infinities and NaN in turn and large integers ("wild"), or
            what the interpreter gives ("zero").
        huge: Also run each kernel once more with a huge program id, without
            touching memory, to see which offsets wrap at 32 bits.
        autotune: Whether an autotuned kernel's first launch runs every config
            twice before, as on a GPU ("trials"), or only the first config
            once ("first").

    Yields:
        What is seen. It grows until the context is left.

    Raises:
        RuntimeError: It is open already, or the interpreter of this triton
            lacks a part that is needed.
    """
    seen = Watch(possible=INTERPRETED)
    if not INTERPRETED:
        yield seen
        return
    if vars(GridExecutor)["__call__"].__module__ == __name__:
        raise RuntimeError("watch() is open already")
    with contextlib.ExitStack() as stack:
        session = Session(seen, undefined, huge, autotune, stack)
        for patch in patches(session):
            patch.apply(stack)
        yield seen


@dataclass(frozen=True)
class Patch:
    """A method of triton's, and what makes its replacement from it."""

    owner: Any
    name: str
    make: Callable[[Any], Any]

    def apply(self, stack: contextlib.ExitStack) -> None:
        """Replace it until the stack is unwound."""
        if self.name not in vars(self.owner):
            raise RuntimeError(
                f"watch() needs {self.owner.__name__}.{self.name}, which"
                f" triton {triton.__version__} does not have"
            )
        original = vars(self.owner)[self.name]
        setattr(self.owner, self.name, self.make(original))
        stack.callback(setattr, self.owner, self.name, original)


@dataclass(frozen=True)
class Addition:
    """A method that some versions of triton lack."""

    owner: Any
    name: str
    method: Method

    def apply(self, stack: contextlib.ExitStack) -> None:
        """Add it, where it is lacking, until the stack is unwound."""
        if self.name not in vars(self.owner):
            setattr(self.owner, self.name, self.method)
            stack.callback(delattr, self.owner, self.name)


def patches(session: "Session") -> list[Patch | Addition]:
    """All that is replaced while watching."""
    builder = InterpreterBuilder
    computing = [
        Patch(builder, name, computing_in_float32) for name in COMPUTING
    ]
    return [
        Patch(GridExecutor, "__call__", session.launching),
        Patch(GridExecutor, "_init_args_hst", session.opening),
        Patch(interpreter, "_implicit_cvt", session.converting),
        Patch(builder, "set_grid_dim", session.setting_grid),
        Patch(builder, "set_grid_idx", session.setting_program),
        Patch(builder, "create_get_program_id", session.getting_program),
        Patch(builder, "create_masked_load", session.loading),
        Patch(builder, "create_masked_store", session.storing),
        Patch(builder, "create_atomic_rmw", session.updating),
        Patch(builder, "create_atomic_cas", session.swapping),
        Patch(builder, "create_addptr", session.adding),
        Patch(interpreter, "_patch_lang_tensor", counting),
        Patch(TritonSemantic, "program_id", session.widening),
        Patch(Autotuner, "run", session.tuning),
        Patch(Autotuner, "do_bench", session.benching),
        Patch(builder, "cast_impl", casting),
        Patch(builder, "create_maxnumf", without_nan(numpy.fmax)),
        Patch(builder, "create_minnumf", without_nan(numpy.fmin)),
        *computing,
        Patch(ReduceScanOpInterface, "apply", reducing),
        Addition(builder, "get_bf16", get_bf16),
    ]


def without_nan(operation: Any) -> Callable[[Any], Any]:
    """tl.maximum and tl.minimum as on a GPU: they give the other operand."""

    def compute(self: Any, lhs: Any, rhs: Any) -> Any:
        return self.binary_op(lhs, rhs, operation)

    return lambda _: compute


@dataclass(frozen=True)
class Step:
    """A pointer moved by offsets, at a line of a kernel."""

    parameter: str
    site: Site
    offsets: NDArray[numpy.int64]


class EnoughSteps(Exception):
    """A dry run has gone on for long enough."""


@dataclass
class DryRun:
    """One program that touches no memory, with an id of our choice.

    Attributes:
        axis: The axis along which the id is not 0.
        program: The id along that axis.
        grid: The grid that the kernel is told.
        wide: Whether the id has 64 bits.
        steps: The pointers it moved.
    """

    axis: int
    program: int
    grid: Program
    wide: bool
    steps: list[Step] = field(default_factory=list)
    left: int = DRY_STEPS

    def count(self) -> None:
        """Count a step, and end the run if they are too many."""
        self.left -= 1
        if self.left < 0:
            raise EnoughSteps

    def id_along(self, axis: int) -> int:
        """The program id along an axis."""
        return self.program if axis == self.axis else 0


class Session:
    """An open watch: the replacements, and the launch that is running.

    Each method named -ing gets a method of triton's and gives the one that
    stands in for it.
    """

    def __init__(
        self,
        seen: Watch,
        undefined: str,
        huge: bool,
        autotune: str,
        stack: contextlib.ExitStack,
    ) -> None:
        self.seen = seen
        self.undefined = undefined
        self.huge = huge
        self.autotune = autotune
        self.stack = stack
        self.launch = WatchedLaunch(seen, "", trial=False)
        self.pointers: dict[int, int] = {}
        self.dry: DryRun | None = None
        self.trial = False
        self.tuners: dict[int, Autotuner] = {}
        self.benched = 0

    # Launches.

    def launching(self, original: Method) -> Method:
        def call(executor: GridExecutor, *args: Any, **kwargs: Any) -> None:
            kernel = executor.fn.__name__
            self.launch = WatchedLaunch(self.seen, kernel, self.trial)
            with quiet():
                try:
                    original(executor, *args, **kwargs)
                finally:
                    self.seen.add_launch(self.launch.record())
                if self.huge:
                    run = DryLaunch(self, original, executor, args, kwargs)
                    run.tell_wraps()

        return call

    def opening(self, original: Method) -> Method:
        def init_args(executor: GridExecutor, args: Any, kwargs: Any) -> Any:
            args_hst, kwargs_hst = original(executor, args, kwargs)
            values = getcallargs(executor.fn, *args_hst, **kwargs_hst)
            pairs = [
                pair
                for name, value in values.items()
                for pair in tensors_in(name, value)
            ]
            self.launch.open_arenas(
                (name, unwrapped(value)) for name, value in pairs
            )
            self.pointers = {
                id(value): arena.pointer
                for (_, value), arena in zip(
                    pairs, self.launch.arenas, strict=True
                )
            }
            return args_hst, kwargs_hst

        return init_args

    def converting(self, original: Method) -> Method:
        def implicit_cvt(arg: Any) -> Any:
            converted = original(arg)
            pointer = self.pointers.get(id(arg))
            if pointer is not None and hasattr(arg, "data_ptr"):
                converted.handle.data = numpy.array([pointer], numpy.uint64)
            return converted

        return implicit_cvt

    def setting_grid(self, original: Method) -> Method:
        def set_grid_dim(builder: InterpreterBuilder, *grid: int) -> None:
            if self.dry:
                original(builder, *self.dry.grid)
            else:
                x, y, z = grid
                self.launch.grid = (int(x), int(y), int(z))
                original(builder, *grid)

        return set_grid_dim

    def setting_program(self, original: Method) -> Method:
        def set_grid_idx(
            builder: InterpreterBuilder, x: int, y: int, z: int
        ) -> None:
            self.launch.start_program((x, y, z))
            original(builder, x, y, z)

        return set_grid_idx

    # Memory.

    def loading(self, original: Method) -> Method:
        def create_masked_load(
            builder: InterpreterBuilder,
            ptrs: TensorHandle,
            mask: Any,
            other: TensorHandle | None,
            *rest: Any,
            **named: Any,
        ) -> TensorHandle:
            on = mask_of(mask, ptrs)
            kind = ptrs.get_element_ty()
            if self.dry:
                self.dry.count()
                off = TensorHandle(numpy.zeros_like(on), tl.int1)
                return original(builder, ptrs, off, None, *rest, **named)
            site = site_of_kernel()
            width = interpreter._get_np_dtype(kind).itemsize
            lanes = self.launch.access("load", site, ptrs.data, on, width)
            fill = values_where_off(other, kind, ptrs.data.shape)
            if other is None and not on.all():
                self.launch.add_undefined(
                    site, ptrs.data, int(on.size - on.sum())
                )
                if self.undefined == "wild":
                    fill = with_values(fill, ~on, wild_values(kind))
            if lanes.lost.any():
                fill = with_values(fill, lanes.lost, wild_values(kind)[-1:])
            return original(
                builder,
                TensorHandle(lanes.addresses, ptrs.dtype),
                TensorHandle(lanes.mask, tl.int1),
                TensorHandle(fill, kind),
                *rest,
                **named,
            )

        return create_masked_load

    def storing(self, original: Method) -> Method:
        def create_masked_store(
            builder: InterpreterBuilder,
            ptrs: TensorHandle,
            value: TensorHandle,
            mask: Any,
            *rest: Any,
            **named: Any,
        ) -> Any:
            if self.dry:
                return self.dry.count()
            lanes = self.launch.access(
                "store",
                site_of_kernel(),
                ptrs.data,
                mask_of(mask, ptrs),
                # What the interpreter writes, whatever the pointer's type.
                value.data.itemsize,
                numpy.broadcast_to(value.data, ptrs.data.shape),
            )
            real = TensorHandle(lanes.addresses, ptrs.dtype)
            on = TensorHandle(lanes.mask, tl.int1)
            return original(builder, real, value, on, *rest, **named)

        return create_masked_store

    def updating(self, original: Method) -> Method:
        def create_atomic_rmw(
            builder: InterpreterBuilder,
            op: Any,
            ptr: TensorHandle,
            val: TensorHandle,
            mask: TensorHandle,
            *rest: Any,
        ) -> TensorHandle:
            real, on, _ = self.atomic(ptr, val, mask_of(mask, ptr))
            return original(builder, op, real, val, on, *rest)

        return create_atomic_rmw

    def swapping(self, original: Method) -> Method:
        def create_atomic_cas(
            builder: InterpreterBuilder,
            ptr: TensorHandle,
            cmp: TensorHandle,
            val: TensorHandle,
            *rest: Any,
        ) -> TensorHandle:
            everywhere = numpy.ones(ptr.data.shape, dtype=bool)
            real, _, lost = self.atomic(ptr, val, everywhere)
            # It knows no mask. A lost lane finds what it hopes for, or a
            # kernel that waits for a lock would wait for ever.
            found = numpy.broadcast_to(cmp.data, ptr.data.shape).copy()
            elsewhere = found.ctypes.data + found.itemsize * numpy.arange(
                found.size, dtype=numpy.uint64
            ).reshape(found.shape)
            real.data = numpy.where(lost, elsewhere, real.data)
            return original(builder, real, cmp, val, *rest)

        return create_atomic_cas

    def atomic(
        self,
        ptr: TensorHandle,
        val: TensorHandle,
        on: NDArray[numpy.bool_],
    ) -> tuple[TensorHandle, TensorHandle, NDArray[numpy.bool_]]:
        """An atomic's real pointers, its mask and the lanes it lost."""
        if self.dry:
            self.dry.count()
            return ptr, TensorHandle(numpy.zeros_like(on), tl.int1), on
        lanes = self.launch.access(
            "atomic", site_of_kernel(), ptr.data, on, val.data.itemsize
        )
        return (
            TensorHandle(lanes.addresses, ptr.dtype),
            TensorHandle(lanes.mask, tl.int1),
            lanes.lost,
        )

    # Dry runs.

    def getting_program(self, original: Method) -> Method:
        def create_get_program_id(
            builder: InterpreterBuilder, axis: int
        ) -> TensorHandle:
            if not self.dry:
                return original(builder, axis)
            program = numpy.array([self.dry.id_along(axis)], numpy.int32)
            return TensorHandle(program, tl.int32)

        return create_get_program_id

    def widening(self, original: Method) -> Method:
        def program_id(semantic: TritonSemantic[Any], axis: int) -> tl.tensor:
            if not (self.dry and self.dry.wide):
                return original(semantic, axis)
            program = numpy.array([self.dry.id_along(axis)], numpy.int64)
            return semantic.tensor(TensorHandle(program, tl.int64), tl.int64)

        return program_id

    def adding(self, original: Method) -> Method:
        def create_addptr(
            builder: InterpreterBuilder,
            ptr: TensorHandle,
            offset: TensorHandle,
        ) -> TensorHandle:
            if self.dry:
                self.dry.count()
                parameter = self.launch.parameter_at(int(ptr.data.flat[0]))
                offsets = offset.data.astype(numpy.int64)
                step = Step(parameter, site_of_kernel(), offsets)
                self.dry.steps.append(step)
            return original(builder, ptr, offset)

        return create_addptr

    # Autotune.

    def tuning(self, original: Method) -> Method:
        def run(tuner: Autotuner, *args: Any, **kwargs: Any) -> Any:
            self.forget_configs(tuner)
            self.benched = 0
            result = original(tuner, *args, **kwargs)
            if self.benched:
                name = tuner.base_fn.__name__
                self.seen.add_autotuned(Autotuned(name, self.benched))
            return result

        return run

    def forget_configs(self, tuner: Autotuner) -> None:
        """Let the first launch while watching be a process's first."""
        if id(tuner) not in self.tuners:
            self.tuners[id(tuner)] = tuner
            self.stack.callback(setattr, tuner, "cache", tuner.cache)
            tuner.cache = {}

    def benching(self, original: object) -> property:
        def bench(
            kernel_call: Callable[[], None], **options: Any
        ) -> list[float]:
            self.benched += 1
            if self.autotune == "trials":
                self.trial = True
                try:
                    for _ in range(RUNS_IN_A_TRIAL):
                        kernel_call()
                finally:
                    self.trial = False
            # All alike: autotune takes the first.
            return [0.0, 0.0, 0.0]

        return property(lambda tuner: bench)


@dataclass
class DryLaunch:
    """A launch that was watched, to be run again without memory."""

    session: Session
    original: Method
    executor: GridExecutor
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def tell_wraps(self) -> None:
        """Tell which offsets wrap, along the axes with several programs."""
        launch = self.session.launch
        for axis, programs in enumerate(launch.grid):
            if programs > 1:
                for wrap in self.wraps(axis, LARGEST_PROGRAM[axis]):
                    self.session.seen.add_wrap(self.smallest(wrap))
        self.session.launch = launch

    def smallest(self, wrap: Wrap) -> Wrap:
        """The same wrap at the smallest program id that shows it."""
        per_program = abs(wrap.meant) / wrap.program
        program = min(wrap.program, math.ceil((1 << 31) / per_program))
        for other in self.wraps(wrap.axis, program):
            if (other.site, other.parameter) == (wrap.site, wrap.parameter):
                return other
        return wrap

    def wraps(self, axis: int, program: int) -> list[Wrap]:
        """The offsets that come out wrong for a program id.

        They are wrong if they differ by multiples of 2**32 from those that
        come out when the program id has 64 bits.
        """
        grid = self.session.launch.grid
        narrow = self.run(DryRun(axis, program, grid, wide=False))
        wide = self.run(DryRun(axis, program, grid, wide=True))
        found = []
        for step, truth in zip(narrow, wide, strict=False):
            same = step.site == truth.site
            if not same or step.offsets.shape != truth.offsets.shape:
                break
            off = truth.offsets - step.offsets
            if not ((off != 0) & (off % WRAPS_AT == 0)).any():
                continue
            lane = numpy.abs(off).argmax()
            found.append(
                Wrap(
                    kernel=self.session.launch.kernel,
                    parameter=step.parameter,
                    site=step.site,
                    axis=axis,
                    program=program,
                    programs=grid[axis],
                    meant=int(truth.offsets.flat[lane]),
                    addressed=int(step.offsets.flat[lane]),
                )
            )
        return found

    def run(self, dry: DryRun) -> list[Step]:
        """Run one program dry, and return the pointers it moved."""
        session = self.session
        executor = copy.copy(self.executor)
        executor.grid = (1,)
        executor.pre_run_hooks = []
        kernel = executor.fn.__name__
        session.launch = WatchedLaunch(session.seen, kernel, trial=False)
        session.launch.grid = dry.grid
        session.dry = dry
        try:
            # Without its data a kernel may fail as it likes, and print.
            with (
                contextlib.suppress(Exception),
                contextlib.redirect_stdout(io.StringIO()),
            ):
                self.original(executor, *self.args, **self.kwargs)
        finally:
            session.dry = None
        return dry.steps


def counting(original: Method) -> Method:
    """Let a loop count to a tensor's value.

    Triton 3.6 converts an array of one element to an integer, which newer
    versions of numpy refuse.
    """

    def patch_lang_tensor(tensor: type[tl.tensor], scope: Any) -> None:
        original(tensor, scope)
        scope.set_attr(
            tensor, "__index__", lambda self: self.handle.data.item()
        )

    return patch_lang_tensor


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Compute with NaN and infinities in silence, as a GPU does."""
    with numpy.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def tensors_in(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """An argument's tensors, and what each is to be called."""
    if isinstance(value, tuple):
        for index, part in enumerate(value):
            yield from tensors_in(f"{name}[{index}]", part)
    elif isinstance(value, TensorDescriptor):
        yield name, value.base
    elif hasattr(value, "data_ptr"):
        yield name, value


def unwrapped(value: Any) -> Tensor:
    """The tensor behind `triton.reinterpret`."""
    return value.base if isinstance(value, TensorWrapper) else value


def mask_of(mask: Any, ptrs: TensorHandle) -> NDArray[numpy.bool_]:
    """A load's or store's mask, in its pointers' shape.

    It is a handle, or a bare array where a block pointer made it.
    """
    return numpy.broadcast_to(numpy.asarray(mask.data), ptrs.data.shape)


def values_where_off(
    other: TensorHandle | None, kind: tl.dtype, shape: tuple[int, ...]
) -> NDArray[Any]:
    """What a load gives where its mask is off, by the interpreter."""
    if other is None:
        return numpy.zeros(shape, dtype=interpreter._get_np_dtype(kind))
    return numpy.broadcast_to(other.data, shape)


def with_values(
    fill: NDArray[Any], where: NDArray[numpy.bool_], values: NDArray[Any]
) -> NDArray[Any]:
    """What a load gives where it does not load, with these values in turn."""
    result = fill.copy()
    result[where] = numpy.resize(values, where.sum())
    return result


def wild_values(kind: tl.dtype) -> NDArray[Any]:
    """What no right result can come from; the last is NaN if there is one.

    The interpreter's maximum and minimum pass over NaN, not over infinities.
    """
    dtype = interpreter._get_np_dtype(kind)
    if kind == tl.bfloat16:
        return numpy.array([0x7F80, 0xFF80, 0x7FC0], dtype=dtype)
    if dtype.kind == "f":
        return numpy.array([numpy.inf, -numpy.inf, numpy.nan], dtype=dtype)
    if dtype.kind == "b":
        return numpy.array([True])
    return numpy.array([numpy.iinfo(dtype).max // 2], dtype=dtype)


def site_of_kernel() -> Site:
    """The innermost line that runs outside of triton."""
    frame: FrameType | None = sys._getframe(1)
    while frame and frame.f_code.co_filename.startswith(NOT_A_KERNEL):
        frame = frame.f_back
    if frame is None:
        return Site("", 0, "")
    return site_at(frame.f_code.co_filename, frame.f_lineno)


@cache
def site_at(file: str, line: int) -> Site:
    """A line of a file."""
    return Site(file, line, linecache.getline(file, line).strip())
