"""From a failing trial to the smallest one, and to the likely cause."""

import linecache
import os
import re
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
import triton

from triton_grad.testing.causes import CAUSE, Cause
from triton_grad.testing.report import BAD, Failure, Verdict
from triton_grad.testing.trials import (
    Subject,
    Trial,
    changed,
    describe,
    make_arguments,
)

TORCH_COMPILE = ("torch._dynamo", "torch._inductor")


@dataclass(frozen=True)
class Finding:
    """What is wrong with one trial.

    Attributes:
        kind: What fails; a smaller trial has to fail in the same.
        where: Which elements differ.
        got: What the op gave.
        expected: What it should have given.
        verdict: How the op fails.
        cause: Why, if the trial itself shows it.
    """

    kind: str
    where: str
    got: str
    expected: str
    verdict: Verdict = Verdict.WRONG
    cause: Cause | None = None


Examine = Callable[[Subject, Trial], Finding | None]


def attempt(
    examine: Examine, subject: Subject, trial: Trial
) -> Finding | None:
    """Examine a trial; an exception is a finding like any other."""
    try:
        return examine(subject, trial)
    except Exception as error:
        verdict = Verdict.REFUSES if refuses(error) else Verdict.CRASHES
        return Finding(
            kind=type(error).__name__,
            where="the call raises",
            got=told(error),
            expected="a result, or an exception that says what is refused",
            verdict=verdict,
        )


def told(error: BaseException) -> str:
    """An exception in one line, with what first caused it."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"


def refuses(error: BaseException) -> bool:
    """Whether an exception was raised to say what the op does not do.

    That is one that a raise or an assert outside Triton, torch.compile and
    this checker raises, or torch's word for what is not there.
    """
    if type(error).__module__.startswith(TORCH_COMPILE):
        return False
    if "not implemented for" in str(error) or isinstance(
        error, NotImplementedError
    ):
        return True
    if "once_differentiable" in str(error):
        return True
    frames = traceback.extract_tb(error.__traceback__)
    if not frames or not str(error):
        return False
    last = frames[-1]
    line = linecache.getline(last.filename, last.lineno or 0).strip()
    module = type(error).__module__.partition(".")[0]
    not_its_own = (
        os.path.dirname(__file__),
        os.path.dirname(triton.__file__),
    )
    elsewhere = module == "triton" or last.filename.startswith(not_its_own)
    says = re.search(r"\braise\b|\bassert\b|torch\._check", line)
    return not elsewhere and says is not None


def simpler(trial: Trial) -> Iterator[Trial]:
    """The same trial with one thing made simpler."""
    if trial.cotangent_layout != "contiguous":
        yield changed(trial, cotangent_layout="contiguous")
    for place in trial.layouts:
        rest = {k: v for k, v in trial.layouts.items() if k != place}
        yield changed(trial, layouts=rest)
    if trial.dtype != torch.float32:
        yield changed(trial, dtype=torch.float32)
    if trial.cotangent != "ones":
        yield changed(trial, cotangent="ones")
    if trial.values in ("negative", "large"):
        yield changed(trial, values="random")


def shrink(
    examine: Examine, subject: Subject, trial: Trial, finding: Finding
) -> tuple[Trial, Finding]:
    """The smallest trial found that fails in the same."""

    def fails(candidate: Trial) -> bool:
        nonlocal trial, finding
        found = attempt(examine, subject, candidate)
        if found is None or found.kind != finding.kind:
            return False
        trial, finding = candidate, found
        return True

    while any(fails(candidate) for candidate in simpler(trial)):
        pass
    for most in (1, 2, 3, 5):
        sizes = {name: min(most, it) for name, it in trial.sizes.items()}
        if sizes == trial.sizes or fails(changed(trial, sizes=sizes)):
            break
    for name in trial.sizes:
        halve(fails, name, lambda: trial)
    if trial.values == "random":
        fails(changed(trial, values="simple"))
    return trial, finding


def halve(
    fails: Callable[[Trial], bool], name: str, smallest: Callable[[], Trial]
) -> None:
    """Bisect one size between one that passes and the smallest that fails."""
    passes = 0
    while (high := smallest().sizes[name]) - passes > 1:
        middle = (passes + high) // 2
        sizes = {**smallest().sizes, name: middle}
        if not fails(changed(smallest(), sizes=sizes)):
            passes = middle


def likely_cause(
    examine: Examine, subject: Subject, trial: Trial, finding: Finding
) -> Cause | None:
    """What the smallest failing trial cannot do without says why it fails.

    Args:
        examine: What fails.
        subject: The op.
        trial: The smallest trial that fails: `shrink`.
        finding: What it shows.
    """

    def fails(**fields: object) -> bool:
        found = attempt(examine, subject, changed(trial, **fields))
        return found is not None and found.verdict in BAD

    in_16_bits = trial.dtype in (torch.float16, torch.bfloat16)
    if finding.verdict is Verdict.CRASHES:
        kernels = finding.kind in ("InterpreterError", "CompilationError")
        return CAUSE["no upcast"] if in_16_bits and kernels else None
    if trial.undefined == "wild" and not fails(undefined="zero"):
        return CAUSE["undefined lanes"]
    if trial.autotune == "trials" and not fails(autotune="first"):
        return CAUSE["autotune trials share an output"]
    if trial.layouts or trial.cotangent_layout != "contiguous":
        return cause_in_layout(examine, subject, trial, finding)
    if in_16_bits:
        reduces = not subject.elementwise
        return CAUSE["16-bit accumulator" if reduces else "no upcast"]
    if not subject.elementwise and is_padding(fails, trial):
        return CAUSE["padding lanes in a reduction"]
    if finding.kind.startswith("gradient"):
        chain = trial.cotangent != "ones" and subject_is_right(
            examine, subject, trial
        )
        return CAUSE["no chain rule" if chain else "term missing"]
    return None


def subject_is_right(
    examine: Examine, subject: Subject, trial: Trial
) -> bool:
    """Whether the trial is right once the upstream gradient is all ones."""
    ones = changed(trial, cotangent="ones")
    return attempt(examine, subject, ones) is None


def is_padding(fails: Callable[..., bool], trial: Trial) -> bool:
    """Whether only sizes between powers of two fail."""
    full = {
        name: 1 << (size - 1).bit_length()
        for name, size in trial.sizes.items()
    }
    return full != trial.sizes and not fails(sizes=full)


def cause_in_layout(
    examine: Examine, subject: Subject, trial: Trial, finding: Finding
) -> Cause:
    """Whose memory is walked in another order than its own.

    Where grad_output is found by the strides of the input, or of the result,
    it is right as long as they lie alike, whatever that is.
    """
    sizes = {name: max(3, size) for name, size in trial.sizes.items()}
    planes = [
        place
        for place in subject.floats
        if len(subject.arguments[place].shape(sizes)) > 1
    ]

    def right(of_inputs: str, of_gradient: str) -> bool:
        laid_out = changed(
            trial,
            sizes=sizes,
            layouts=dict.fromkeys(planes, of_inputs),
            cotangent_layout=of_gradient,
        )
        return attempt(examine, subject, laid_out) is None

    # A result has no gaps: its strides are the input's only in the first.
    if (
        planes
        and finding.kind.startswith("gradient")
        and right("transposed", "transposed")
        and (right("sliced", "sliced") or right("sliced", "contiguous"))
    ):
        return CAUSE["gradient read with the input's strides"]
    walked = "input" if trial.layouts else "gradient"
    return CAUSE[f"{walked} walked in memory order"]


def failure_of(
    examine: Examine,
    subject: Subject,
    trial: Trial,
    finding: Finding,
    backward: bool,
) -> tuple[Failure, Finding]:
    """A failing trial, made small and explained."""
    # What the trial itself showed, it showed best while it was large.
    cause = finding.cause
    trial, finding = shrink(examine, subject, trial, finding)
    if cause is None:
        cause = likely_cause(examine, subject, trial, finding)
    try:
        args = make_arguments(subject, trial)
        call = describe(subject, trial, args, backward)
    except Exception:
        call = str(trial)
    failure = Failure(
        call, finding.where, finding.got, finding.expected, cause
    )
    return failure, finding
