"""check_op: find in an op of your own the bugs that this book teaches."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
import triton.language as tl

from triton_grad.device import DEVICE
from triton_grad.launch import FLOAT_DTYPES, is_interpreted
from triton_grad.testing.arguments import TensorArgument, parse_argument
from triton_grad.testing.checks import CHECK, CHECKS, sized
from triton_grad.testing.isolation import run_each
from triton_grad.testing.report import BAD, Report, Result, Verdict
from triton_grad.testing.spelled import Spelled
from triton_grad.testing.trials import (
    Subject,
    Trial,
    describe,
    make_arguments,
    results_of,
    to_float64,
)

# Where PyTorch's own ops are known to be off.
KNOWN_OF_PYTORCH: dict[Any, dict[str, str]] = {
    torch.nn.functional.gelu: {
        "small results": "F.gelu computes 1 + erf(x / √2), which cancels in"
        " the lower tail",
    },
    torch.tanh: {
        "small results": "torch.tanh's gradient is 1 - y², of a y that is"
        " rounded to 1",
    },
}


@dataclass(frozen=True)
class NamedCheck:
    """Runs the checks of one subject by their names, in a worker."""

    subject: Subject

    def __call__(self, name: str) -> Result:
        return CHECK[name](self.subject)


def check_op(
    op: Callable[..., Any],
    oracle: Callable[..., Any],
    inputs: Sequence[Any] = ("...",),
    *,
    kwargs: Mapping[str, Any] | None = None,
    dtypes: Sequence[torch.dtype] = FLOAT_DTYPES,
    checks: Sequence[str] | None = None,
    known: Mapping[str, str] | None = None,
    timeout: float = 60.0,
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Hold an op and its gradient to a float64 truth, in every way we know.

    On the interpreter every access of a Triton kernel is watched, so that
    one outside a tensor is found for certain, whatever lies there. Each check
    runs in a worker process: a crash or a hang is its result, no more.

    Args:
        op: What is checked: a function of tensors that gives a tensor or
            several. It runs on `triton_grad.DEVICE`.
        oracle: The truth: is called with the same arguments in float64, and
            differentiated by autograd. Mostly PyTorch's own op.
        inputs: One entry for each positional argument. A string is a tensor:
            "..." of any shape, if every element is computed alone;
            "rows cols", "cols", "rows 64": of these dimensions, of which one
            name means one size everywhere; "cols > 0" of positive values;
            "int rows < cols" of int64 values from 0 to cols - 1. Anything
            else is handed to both as it is.
        kwargs: Keyword arguments for both.
        dtypes: What the op has to be right for.
        checks: The names of the checks to run: `CHECKS`. None: all but those
            that have to be asked for, which are "compile" and "vmap".
        known: Checks that are known to fail, and why: they are told as known
            exceptions, and do not fail the report.
        timeout: Seconds after which a check counts as hanging.
        progress: Is called with the name of each check as it starts.

    Returns:
        The report: print it, or call its `assert_right()`.

    Raises:
        ValueError: An input is no shape, none of them is a floating-point
            tensor, there is no check or no dtype of that name, or the oracle
            cannot be called with such inputs.
        RuntimeError: Triton was imported without the interpreter, and there
            is no GPU.
        WorkerError: No process can be started; on a GPU, because the op or
            the oracle is no function of a module.
    """
    if DEVICE == "cpu" and not is_interpreted(tl.sum):
        raise RuntimeError(
            "check_op(): without a GPU the interpreter has to be on before"
            " triton is imported: set TRITON_INTERPRET=1, or import"
            " triton_grad first of all"
        )
    arguments = tuple(parse_argument(it) for it in inputs)
    if not any(
        isinstance(it, TensorArgument) and it.is_float for it in arguments
    ):
        raise ValueError(
            f"inputs: {tuple(inputs)!r} has no floating-point tensor; write"
            " one as its shape, '...' or 'rows cols'"
        )
    known = {**known_of(op), **(known or {})}
    names = [it.name for it in CHECKS if not it.asked]
    if checks is not None:
        names = list(checks)
    for name in [*names, *known]:
        if name not in CHECK:
            raise ValueError(
                f"check_op(): no check {name!r}; there are:"
                f" {', '.join(CHECK)}"
            )
    for dtype in dtypes:
        if dtype not in FLOAT_DTYPES:
            raise ValueError(
                f"check_op(): {dtype} is not one of {FLOAT_DTYPES}"
            )
    subject = Subject(
        op, oracle, arguments, dict(kwargs or {}), tuple(dtypes)
    )
    check_oracle(subject)
    found = run_all(names, NamedCheck(subject), timeout, progress)
    results = tuple(as_known(found[name], known.get(name)) for name in names)
    device = f"{DEVICE}, {'compiled' if DEVICE == 'cuda' else 'interpreter'}"
    return Report(name_of(op), name_of(oracle), device, results)


def check_oracle(subject: Subject) -> None:
    """Refuse an oracle that cannot be called as the op is to be."""
    trial = Trial(sized(subject, 4), device="cpu")
    args = [to_float64(it) for it in make_arguments(subject, trial)]
    try:
        results_of(subject.oracle, args, subject.kwargs)
    except Exception as error:
        words = describe(subject, trial, args, backward=False)
        raise ValueError(
            f"check_op(): the oracle cannot be called with {words}: "
            f"{type(error).__name__}: {error}"
        ) from error


def run_all(
    names: Sequence[str],
    run: NamedCheck,
    timeout: float,
    progress: Callable[[str], None] | None,
) -> dict[str, Result]:
    """Also on a GPU, what has to be watched runs on the interpreter."""
    on_gpu = DEVICE == "cuda"
    watched = [name for name in names if on_gpu and CHECK[name].watched]
    others = [name for name in names if name not in watched]
    found = run_each(others, run, timeout=timeout, on_start=progress)
    for name, result in run_each(
        watched, run, timeout=timeout, on_start=progress, interpreted=True
    ).items():
        if result.verdict is not Verdict.NOT_TRIED:
            note = f"{result.note}, on the interpreter"
            result = replace(result, note=note)
        found[name] = result
    return found


def as_known(result: Result, reason: str | None) -> Result:
    """A failure that was announced is told as what it is."""
    if reason is None or result.verdict not in BAD:
        return result
    return replace(result, verdict=Verdict.KNOWN, note=reason)


def known_of(op: Any) -> dict[str, str]:
    """The known exceptions of PyTorch's own op."""
    try:
        named = op.found() if isinstance(op, Spelled) else op
        return KNOWN_OF_PYTORCH.get(named, {})
    except TypeError:  # an op that cannot be hashed is none of PyTorch's
        return {}


def name_of(function: Any) -> str:
    """What a function is called: an autograd.Function by its class too."""
    owner = getattr(function, "__self__", None)
    name = getattr(function, "__name__", None) or repr(function)
    return f"{owner.__name__}.{name}" if isinstance(owner, type) else name
