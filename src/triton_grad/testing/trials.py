"""One trial of an op: what it is called with, what it gives, the truth."""

import inspect
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.precision import compute_dtype
from triton_grad.testing.arguments import (
    TensorArgument,
    draw_values,
    lay_out,
    simplified,
)
from triton_grad.testing.isolation import announce
from triton_grad.testing.poison import Poison, poisoned
from triton_grad.testing.tolerance import (
    ALLOWED,
    OF_PYTORCH,
    doubt_of,
    error_units,
    floor_of,
    rounding_cost,
    worst_error,
)
from triton_grad.testing.watch import Watch, watch


@dataclass(frozen=True)
class Subject:
    """The op under test, and the truth about it.

    Attributes:
        op: The op.
        oracle: Computes the same of float64 tensors.
        arguments: What both are called with: `parse_argument`.
        kwargs: Keyword arguments of both.
        dtypes: The floating dtypes that the op is to be right for.
    """

    op: Callable[..., Any]
    oracle: Callable[..., Any]
    arguments: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    dtypes: tuple[torch.dtype, ...]

    @property
    def tensors(self) -> list[int]:
        """The positions of the tensors among the arguments."""
        return [
            place
            for place, it in enumerate(self.arguments)
            if isinstance(it, TensorArgument)
        ]

    @property
    def floats(self) -> list[int]:
        """The positions of the floating-point tensors."""
        return [it for it in self.tensors if self.arguments[it].is_float]

    @property
    def elementwise(self) -> bool:
        """Whether every tensor has any shape, so each element its own."""
        return all(self.arguments[it].dims is None for it in self.tensors)

    @cached_property
    def calls(self) -> dict[str, "Call"]:
        """The calls made so far in this process: `with_gradients`."""
        return {}

    def name(self, place: int) -> str:
        """What the op calls an argument."""
        try:
            parameters = list(inspect.signature(self.op).parameters.values())
            parameter = parameters[place]
            if parameter.kind is not inspect.Parameter.VAR_POSITIONAL:
                return parameter.name
        except (ValueError, TypeError, IndexError):
            pass
        return "x" if len(self.tensors) == 1 else f"argument {place}"


@dataclass(frozen=True)
class Trial:
    """What an op is called with.

    Attributes:
        sizes: Of the named dimensions.
        dtype: Of the floating-point tensors.
        layouts: Of the tensors, by position; contiguous if not named.
        values: "random", "simple" (quarters), "negative", "large", "special"
            or "tail".
        cotangent: The upstream gradient's values: "random", "ones", "mean".
        cotangent_layout: How it lies in memory.
        only: The position of the only tensor that requires a gradient;
            None: all do.
        undefined: What lanes are that a kernel leaves undefined, "zero" or
            "wild": `watch`.
        autotune: Whether a kernel that is autotuned runs its "trials", or
            just its "first" configuration: `watch`.
        device: Where the tensors lie.
        poison: Whether memory that the op gets uninitialized is filled; not
            where PyTorch traces or wraps what the op does: `poisoned`.
    """

    sizes: Mapping[str, int]
    dtype: torch.dtype = torch.float32
    layouts: Mapping[int, str] = field(default_factory=dict)
    values: str = "random"
    cotangent: str = "random"
    cotangent_layout: str = "contiguous"
    only: int | None = None
    undefined: Literal["wild", "zero"] = "zero"
    autotune: Literal["trials", "first"] = "first"
    device: str = DEVICE
    poison: bool = True


class Sides(NamedTuple):
    """One result of an op, and what it should be.

    Attributes:
        part: Which result it is.
        actual: What the op gave, on the CPU.
        truth: What the oracle gives, in float64.
        cost: What rounding the inputs costs there: `rounding_cost`.
        floor: What rounding a result of typical size costs: `floor_of`.
        of_pytorch: What the oracle gives in the op's own dtype, if it can.
    """

    part: str
    actual: Tensor
    truth: Tensor
    cost: Tensor
    floor: Tensor
    of_pytorch: Tensor | None

    @property
    def strict(self) -> bool:
        """A result of the forward pass, which is rounded once."""
        return self.part.startswith("output")

    def units(self) -> Tensor:
        units = error_units(
            self.truth, self.cost, self.actual.dtype, self.strict
        )
        return units + self.floor

    def errors(self) -> Tensor:
        return worst_error(self.actual, self.truth, self.units())

    def allowed(self) -> float:
        """The largest error that a right op may have here, in units."""
        allowed = ALLOWED[self.actual.dtype]
        if self.of_pytorch is None:
            return allowed
        error = worst_error(self.of_pytorch, self.truth, self.units())
        finite = error[error.isfinite()]
        if finite.numel() == 0:
            return allowed
        return max(allowed, OF_PYTORCH * finite.max().item())

    def wrong(self) -> Tensor:
        """Which elements are further from the truth than a right op is."""
        if not self.actual.is_floating_point():
            return self.actual != self.truth
        return self.errors() > self.allowed()


@dataclass
class Call:
    """What happened in one call of the op.

    Attributes:
        args: The arguments it was called with.
        exact: Their values before the call: `to_float64`.
        outputs: Its results.
        cotangents: The upstream gradient of each differentiable output.
        upstream: Their values before the backward.
        gradients: By position of the argument.
        seen: What the watched interpreter saw.
        poison: What the memory that was not written still holds.
    """

    args: list[Any]
    exact: list[Any]
    outputs: list[Tensor]
    cotangents: list[Tensor]
    upstream: list[Tensor]
    gradients: Mapping[int, Tensor | None]
    seen: Watch
    poison: Poison


class CutOffError(Exception):
    """No output of the op requires a gradient."""


def generator_for(trial: Trial, what: str) -> torch.Generator:
    """Numbers of its own for each tensor: equal ones would hide a swap."""
    text = f"{what} {sorted(trial.sizes.items())}"
    return torch.Generator().manual_seed(zlib.crc32(text.encode()))


def values_for(subject: Subject, trial: Trial, place: int) -> Tensor:
    """The values of one tensor, in float64 or int64."""
    argument = subject.arguments[place]
    shape = argument.shape(trial.sizes)
    generator = generator_for(trial, f"argument {place}")
    simple = trial.values == "simple"
    drawn = draw_values(argument, shape, trial.sizes, generator, simple)
    if not argument.is_float or argument.positive:
        return drawn
    match trial.values:
        case "negative":
            return -drawn.abs() - 0.5
        case "large":
            return 60.0 * drawn
        case "tail" if place == subject.floats[0]:
            wide = torch.linspace(-12.0, 12.0, drawn.numel())
            return wide.double().view(shape)
        case "special" if place == subject.floats[0]:
            return with_special_values(drawn, subject, trial.dtype)
    return drawn


def with_special_values(
    drawn: Tensor, subject: Subject, dtype: torch.dtype
) -> Tensor:
    """Each special value in a row of its own, if there are rows."""
    special = [torch.nan, -torch.inf, torch.inf, 0.0, -0.0]
    if subject.elementwise:  # the sum of a row would overflow
        info = torch.finfo(dtype)
        special += [info.max, info.min, info.tiny, info.tiny * info.eps]
    rows = drawn.clone().view(len(drawn), -1) if drawn.dim() else drawn
    for row, value in zip(rows, special, strict=False):
        row[len(row) // 2] = value
    return rows.view(drawn.shape)


def make_arguments(subject: Subject, trial: Trial) -> list[Any]:
    """The arguments of one call, on the device."""
    args = list(subject.arguments)
    for place in subject.tensors:
        values = values_for(subject, trial, place)
        if values.is_floating_point():
            values = values.to(trial.dtype)
        layout = trial.layouts.get(place, "contiguous")
        args[place] = lay_out(values, layout, trial.device)
        if place in subject.floats and trial.only in (None, place):
            args[place].requires_grad_()
    return args


def make_cotangent(output: Tensor, trial: Trial, place: int) -> Tensor:
    """An upstream gradient of an output."""
    shape = output.shape
    match trial.cotangent:
        case "ones":
            values = torch.ones(shape, dtype=output.dtype)
        case "mean":
            share = 1.0 / max(1, output.numel())
            values = torch.full(shape, share, dtype=output.dtype)
        case _:
            generator = generator_for(trial, f"cotangent {place}")
            drawn = torch.randn(
                shape, generator=generator, dtype=torch.float64
            )
            if trial.values == "simple":
                drawn = simplified(drawn)
            values = drawn.to(output.dtype)
    return lay_out(values, trial.cotangent_layout, str(output.device))


def results_of(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """A function's results, as a list of tensors."""
    results = function(*args, **kwargs)
    if isinstance(results, Tensor):
        return [results]
    if isinstance(results, (tuple, list)):
        return list(results)
    kind = type(results).__name__
    raise TypeError(f"a tensor or several are wanted, not a {kind}")


@contextmanager
def instruments(
    trial: Trial, *, huge: bool = False
) -> Iterator[tuple[Watch, Poison]]:
    """The interpreter watched, and fresh memory poisoned, if it can be."""
    watched = watch(
        undefined=trial.undefined, autotune=trial.autotune, huge=huge
    )
    poisoning = poisoned() if trial.poison else nullcontext(Poison())
    with watched as seen, poisoning as poison:
        yield seen, poison


@contextmanager
def called(
    subject: Subject, trial: Trial, *, huge: bool = False
) -> Iterator[Call]:
    """A call of the op; it is still watched, to be differentiated."""
    args = make_arguments(subject, trial)
    exact = [to_float64(it) for it in args]
    announce(describe(subject, trial, args, backward=True))
    with instruments(trial, huge=huge) as (seen, poison):
        outputs = results_of(subject.op, args, subject.kwargs)
        yield Call(args, exact, outputs, [], [], {}, seen, poison)


def perform(subject: Subject, trial: Trial, backward: bool) -> Call:
    """Call the op, and differentiate it if that is asked for."""
    with called(subject, trial) as call:
        if backward:
            differentiate(call, trial)
    return call


def differentiate(call: Call, trial: Trial, *, retain: bool = False) -> None:
    """Fill in the gradients of the arguments that require one."""
    wanted = wanted_of(call.args)
    differentiable = [it for it in call.outputs if it.requires_grad]
    if not differentiable:
        raise CutOffError("no output requires a gradient, and an input does")
    call.cotangents = [
        make_cotangent(it, trial, place)
        for place, it in enumerate(differentiable)
    ]
    call.upstream = [to_float64(it) for it in call.cotangents]
    gradients = torch.autograd.grad(
        differentiable,
        list(wanted.values()),
        call.cotangents,
        retain_graph=retain,
        allow_unused=True,
    )
    call.gradients = dict(zip(wanted, gradients, strict=True))


def wanted_of(args: Sequence[Any]) -> dict[int, Tensor]:
    """The arguments that require a gradient, by position."""
    return {
        place: it
        for place, it in enumerate(args)
        if isinstance(it, Tensor) and it.requires_grad
    }


def to_float64(value: Any) -> Any:
    """A tensor's values alone, on the CPU; anything else as it is."""
    if not isinstance(value, Tensor):
        return value
    values = value.detach().cpu().contiguous().clone()
    return values.double() if values.is_floating_point() else values


class Oracle:
    """The oracle, as a function of lists of tensors.

    Args:
        subject: Whose oracle it is.
        call: What the op was called with.
        backward: Whether gradients are wanted, not results.
    """

    def __init__(self, subject: Subject, call: Call, backward: bool) -> None:
        self.subject = subject
        self.backward = backward
        self.args = call.exact
        self.wanted = list(call.gradients)
        self.count = len(call.outputs)
        self.inputs = [call.exact[it] for it in subject.tensors]
        if backward:
            self.inputs += call.upstream

    def __call__(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """Its results, or its gradients, for other inputs of this kind."""
        places = self.subject.tensors
        args = list(self.args)
        for place, it in zip(places, inputs, strict=False):
            args[place] = it.detach()
            if self.backward and place in self.wanted:
                args[place].requires_grad_()
        outputs = results_of(self.subject.oracle, args, self.subject.kwargs)
        if len(outputs) != self.count:
            raise ValueError(
                f"the op gives {self.count} tensors, the oracle"
                f" {len(outputs)}"
            )
        if not self.backward:
            return [it.detach() for it in outputs]
        differentiable = [it for it in outputs if it.requires_grad]
        found = torch.autograd.grad(
            differentiable,
            [args[it] for it in self.wanted],
            [*inputs[len(places) :]],
            allow_unused=True,
            materialize_grads=True,
        )
        return list(found)


def in_dtype(
    compute: Callable[[Sequence[Tensor]], list[Tensor]],
    inputs: Sequence[Tensor],
    dtype: torch.dtype,
) -> list[Tensor] | None:
    """An oracle in the op's own dtype, if it can compute in that."""
    moved = [it.to(dtype) if it.is_floating_point() else it for it in inputs]
    try:
        return compute(moved)
    except Exception:  # An oracle need not know any dtype but float64.
        return None


def compare(
    subject: Subject, trial: Trial, call: Call, backward: bool
) -> list[Sides]:
    """The op's results, or its gradients, beside the truth."""
    oracle = Oracle(subject, call, backward)
    truths = oracle(oracle.inputs)
    # A backward may be computed from what the forward has rounded.
    rounded_to = trial.dtype if backward else compute_dtype(trial.dtype)
    eps = torch.finfo(rounded_to).eps
    costs = rounding_cost(oracle, oracle.inputs, truths, eps)
    others = in_dtype(oracle, oracle.inputs, trial.dtype)
    of_pytorch = others or [None] * len(truths)
    if backward:
        parts = [f"gradient of {subject.name(it)}" for it in oracle.wanted]
        actual = list(call.gradients.values())
    else:
        several = len(call.outputs) > 1
        parts = [
            f"output {place}" if several else "output"
            for place in range(len(call.outputs))
        ]
        actual = call.outputs
    return [
        Sides(
            part,
            on_cpu(got, truth),
            truth,
            cost + doubt_of(oracle.inputs, truth),
            floor_of(truth, eps),
            other,
        )
        for part, got, truth, cost, other in zip(
            parts, actual, truths, costs, of_pytorch, strict=True
        )
    ]


def on_cpu(got: Tensor | None, truth: Tensor) -> Tensor:
    """A result on the CPU; no gradient at all counts as zeros."""
    if got is None:
        return torch.zeros(truth.shape)
    return got.detach().cpu()


def describe(
    subject: Subject, trial: Trial, args: Sequence[Any], backward: bool
) -> str:
    """A call in words."""
    words = []
    for place in subject.tensors:
        layout = trial.layouts.get(place, "contiguous")
        words.append(
            f"{subject.name(place)}: {of_tensor(args[place], layout)}"
        )
    if backward:
        gradient = f"grad_output: {trial.cotangent}"
        if trial.cotangent_layout != "contiguous":
            gradient += f", {trial.cotangent_layout}"
        words.append(gradient)
    if trial.values != "random":
        words.append(f"{trial.values} values")
    return "; ".join(words)


def of_tensor(tensor: Tensor, layout: str) -> str:
    """A tensor in words, with its values if they are few."""
    dtype = str(tensor.dtype).removeprefix("torch.")
    words = f"{dtype} {tuple(tensor.shape)}"
    if layout != "contiguous":
        words += f", {layout} (strides {tensor.stride()})"
    if 0 < tensor.numel() <= 4:
        words += f" = {short(tensor)}"
    return words


def short(tensor: Tensor) -> str:
    """A few values, in a few digits each."""
    values = tensor.detach().cpu().flatten().tolist()
    return "[" + ", ".join(f"{it:.6g}" for it in values) + "]"


def changed(trial: Trial, **fields: Any) -> Trial:
    """The same trial but for some of its fields."""
    return replace(trial, **fields)
