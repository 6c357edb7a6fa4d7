"""What can be wrong with one trial; each function looks at one thing."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from triton_grad.testing.causes import CAUSE, Cause
from triton_grad.testing.diagnosis import Finding
from triton_grad.testing.poison import is_poison
from triton_grad.testing.promises import ulp
from triton_grad.testing.sightings import Fault, Watch, Wrap
from triton_grad.testing.tolerance import floor_of, rounding_cost
from triton_grad.testing.trials import (
    Call,
    CutOffError,
    Sides,
    Subject,
    Trial,
    called,
    changed,
    compare,
    differentiate,
    in_dtype,
    instruments,
    make_arguments,
    make_cotangent,
    on_cpu,
    perform,
    results_of,
    short,
    to_float64,
    wanted_of,
)

SHOWN = 3
# More units than any rounding explains: digits are lost.
LOST = 64.0
# Fewer share a factor by chance.
FEW_ELEMENTS = 5


def mismatch(sides: Sides, wrong: Tensor | None = None) -> Finding | None:
    """What differs between a result and the truth."""
    actual, truth = sides.actual, sides.truth
    if actual.shape != truth.shape:
        return Finding(
            kind=f"{sides.part}'s shape",
            where=f"the {sides.part}'s shape",
            got=str(tuple(actual.shape)),
            expected=str(tuple(truth.shape)),
        )
    if wrong is None:
        wrong = sides.wrong()
    if not wrong.any():
        return None
    where = places(wrong)
    if actual.is_floating_point():
        where += f", {by_how_much(sides, wrong)}"
    return Finding(
        kind=sides.part,
        where=f"{sides.part}: {where}",
        got=first_of(actual, wrong),
        expected=first_of(truth.to(actual.dtype), wrong),
    )


def by_how_much(sides: Sides, wrong: Tensor) -> str:
    """The largest error in words: a share of the truth, or in units."""
    actual, truth = sides.actual[wrong].double(), sides.truth[wrong]
    finite = actual.isfinite() & truth.isfinite()
    if not finite.any():
        return "not finite"
    error = (actual - truth)[finite].abs()
    share = (error / truth[finite].abs()).max().item()
    largest = f"by up to {error.max().item():.2g}"
    if 0.01 <= share <= 10.0:
        return f"{largest}, {share:.0%} of it"
    units = error / ulp(truth[finite], sides.actual.dtype)
    if share < 0.01:
        return f"{largest}, {units.max().item():.2g} ulp"
    return largest


def places(wrong: Tensor) -> str:
    """Which elements, in words."""
    count, total = int(wrong.sum()), wrong.numel()
    if wrong.dim() == 0 or count == total:
        return "the only element" if total == 1 else f"all {total} elements"
    found = wrong.nonzero().tolist()
    first, last = found[0], found[-1]
    if count == 1:
        return f"1 of {total} elements, {first}"
    return f"{count} of {total} elements, {first} to {last}"


def first_of(values: Tensor, wrong: Tensor) -> str:
    """The first of the values that are wrong."""
    few = values[wrong][:SHOWN]
    more = ", ..." if int(wrong.sum()) > SHOWN else ""
    return short(few).removesuffix("]") + more + "]"


def examine_values(subject: Subject, trial: Trial) -> Finding | None:
    """The results, but for what was never written."""
    call = perform(subject, trial, backward=False)
    for output, sides in zip(
        call.outputs, compare(subject, trial, call, False), strict=True
    ):
        if sides.actual.shape != sides.truth.shape:
            return mismatch(sides)
        wrong = sides.wrong() & ~is_poison(output).cpu()
        if finding := mismatch(sides, wrong):
            return finding
    return None


def examine_gradient(subject: Subject, trial: Trial) -> Finding | None:
    """The gradients, but for what was never written."""
    call = with_gradients(subject, trial)
    if not call.gradients:
        raise CutOffError("no output requires a gradient")
    return wrong_gradient(subject, trial, call)


def wrong_gradient(
    subject: Subject, trial: Trial, call: Call
) -> Finding | None:
    all_sides = compare(subject, trial, call, True)
    for place, sides in zip(call.gradients, all_sides, strict=True):
        gradient = call.gradients[place]
        wrong = None
        if gradient is not None and sides.actual.shape == sides.truth.shape:
            wrong = sides.wrong() & ~is_poison(gradient).cpu()
        finding = mismatch(sides, wrong)
        if finding is None:
            continue
        return replace(
            finding,
            got="no gradient" if gradient is None else finding.got,
            cause=misplaced(sides, all_sides, gradient),
        )
    return None


def misplaced(
    sides: Sides, all_sides: Sequence[Sides], gradient: Tensor | None
) -> Cause | None:
    """Whether a wrong gradient is none, another's, or a multiple."""
    if gradient is None or not gradient.any():
        return CAUSE["gradient missing"]
    for other in all_sides:
        if other is sides or other.truth.shape != sides.actual.shape:
            continue
        swapped = other._replace(actual=sides.actual)
        if not swapped.wrong().any():
            return CAUSE["gradient in another input's place"]
    if is_multiple(sides):
        return CAUSE["constant factor"]
    return None


def is_multiple(sides: Sides) -> bool:
    """Whether all elements are the truth times one and the same number."""
    wrong = sides.wrong()
    if int(wrong.sum()) < FEW_ELEMENTS:
        return False
    ratio = sides.actual.double()[wrong] / sides.truth[wrong]
    return bool((ratio - ratio[0]).abs().max() < 1e-3 * ratio[0].abs())


def with_gradients(subject: Subject, trial: Trial) -> Call:
    """A call and its backward; the call alone where it has none.

    Several checks look at the same calls, each at something else.
    """
    key = repr(trial)
    if key not in subject.calls:
        try:
            subject.calls[key] = perform(subject, trial, backward=True)
        except CutOffError:
            subject.calls[key] = perform(subject, trial, backward=False)
    return subject.calls[key]


def examine_cut_off(subject: Subject, trial: Trial) -> Finding | None:
    """Whether the result has a graph."""
    try:
        perform(subject, trial, backward=True)
    except CutOffError as error:
        return Finding(
            kind="graph",
            where="requires_grad of the result",
            got=f"False: {error}",
            expected="True",
            cause=CAUSE["cut off the graph"],
        )
    return None


def examine_alone(subject: Subject, trial: Trial) -> Finding | None:
    """The gradient of the only input that requires one."""
    return examine_cut_off(subject, trial) or examine_gradient(subject, trial)


def examine_written(subject: Subject, trial: Trial) -> Finding | None:
    """Whether all of what the op allocates is stored, and nothing beside."""
    call = with_gradients(subject, trial)
    for overrun in call.poison.overruns():
        return Finding(
            kind="bounds",
            where=f"a tensor of shape {overrun.shape} that the op allocates",
            got=f"a store to elements {overrun.least} to {overrun.most}"
            " behind it (negative: before it)",
            expected="no access outside a tensor",
            cause=CAUSE["no mask on a store"],
        )
    results = {f"output {k}": it for k, it in enumerate(call.outputs)}
    for place, gradient in call.gradients.items():
        if gradient is not None:
            results[f"gradient of {subject.name(place)}"] = gradient
    for part, result in results.items():
        unwritten = is_poison(result).cpu()
        if unwritten.any():
            return Finding(
                kind="unwritten",
                where=f"{part}: {places(unwritten)}",
                got="what torch.empty had left there",
                expected="every element stored",
                cause=cause_of_unwritten(subject, trial, unwritten),
            )
    return None


def cause_of_unwritten(
    subject: Subject, trial: Trial, unwritten: Tensor
) -> Cause:
    """The end of the last, partly filled block, or anything."""
    flat = unwritten.flatten()
    suffix = flat[int(flat.int().argmax()) :].all()
    full = {
        name: max(4096, 1 << (size - 1).bit_length())
        for name, size in trial.sizes.items()
    }
    if suffix and len(full) == 1:
        call = with_gradients(subject, changed(trial, sizes=full))
        if not any(is_poison(it).any() for it in call.outputs):
            return CAUSE["last block missing"]
    return CAUSE["unwritten output"]


def examine_bounds(subject: Subject, trial: Trial) -> Finding | None:
    """Whether a kernel touches memory that no argument owns."""
    call = with_gradients(subject, trial)
    faults = call.seen.faults
    if not faults:
        return None
    fault = faults[0]
    return Finding(
        kind="bounds",
        where=f"{fault.kernel}, line {fault.site.line}: {fault.site.text}",
        got="; ".join(told_fault(it) for it in faults[:SHOWN]),
        expected="no access outside a tensor",
        cause=cause_of_faults(faults),
    )


def told_fault(fault: Fault) -> str:
    """One access out of bounds, in words."""
    if fault.least > 0:
        far = f"{counted(fault.least, fault.most, 'element')} past the end of"
    elif fault.most < 0:
        far = f"{counted(-fault.most, -fault.least, 'element')} before"
    else:
        far = f"elements {fault.least} to {fault.most} around"
    lanes = counted(fault.lanes, fault.lanes, "lane")
    return f"{fault.access} {far} {fault.parameter}, {lanes}"


def counted(least: int, most: int, what: str) -> str:
    """So many, or from so many to so many."""
    number = f"{least}" if least == most else f"{least} to {most}"
    return f"{number} {what}" if most == 1 else f"{number} {what}s"


def cause_of_faults(faults: Sequence[Fault]) -> Cause:
    loads = any(it.access == "load" for it in faults)
    stores = any(it.access != "load" for it in faults)
    if all(it.least == it.most == it.lanes == 1 for it in faults):
        return CAUSE["mask one too many"]
    if loads and stores:
        return CAUSE["no mask"]
    return CAUSE["no mask on a load" if loads else "no mask on a store"]


def examine_layout_bounds(subject: Subject, trial: Trial) -> Finding | None:
    """The same for layouts: what is wrong there is not the mask."""
    finding = examine_bounds(subject, trial)
    return finding and replace(finding, cause=None)


def examine_untouched(subject: Subject, trial: Trial) -> Finding | None:
    """Whether the inputs and the upstream gradient are as they were."""
    call = with_gradients(subject, trial)
    for place, before in enumerate(make_arguments(subject, trial)):
        after = call.args[place]
        if isinstance(before, Tensor) and memory_differs(before, after):
            name = subject.name(place)
            return written_to(name, before, after, "writes into its input")
    differentiable = [it for it in call.outputs if it.requires_grad]
    for place, after in enumerate(call.cotangents):
        before = make_cotangent(differentiable[place], trial, place)
        if memory_differs(before, after):
            return written_to(
                "grad_output", before, after, "writes into grad_output"
            )
    return None


def memory_of(tensor: Tensor) -> Tensor:
    """All bytes of a tensor's storage."""
    storage = tensor.detach().untyped_storage().cpu()
    return torch.tensor([], dtype=torch.uint8).set_(storage)


def memory_differs(before: Tensor, after: Tensor) -> bool:
    return not torch.equal(memory_of(before), memory_of(after))


def written_to(
    name: str, before: Tensor, after: Tensor, cause: str
) -> Finding:
    differs = (before.detach() != after.detach()).cpu()
    return Finding(
        kind=f"{name} written",
        where=f"{name}: {places(differs)}" if differs.any() else name,
        got=first_of(after.detach().cpu(), differs),
        expected=first_of(before.detach().cpu(), differs),
        cause=CAUSE[cause],
    )


def examine_races(subject: Subject, trial: Trial) -> Finding | None:
    """Whether two programs of one launch meet in an element."""
    call = with_gradients(subject, trial)
    for race in call.seen.races:
        return Finding(
            kind="race",
            where=f"{race.kernel}, line {race.site.line}: {race.site.text}",
            got=f"programs {race.other_program} ({race.other_access}) and"
            f" {race.program} ({race.access}) meet in element"
            f" {race.element} of {race.parameter}",
            expected="an atomic, or an element for each program",
            cause=CAUSE["racy accumulation"],
        )
    return None


def examine_all(subject: Subject, trial: Trial) -> Finding | None:
    """Results and gradients."""
    try:
        return examine_values(subject, trial) or examine_gradient(
            subject, trial
        )
    except CutOffError:
        return None


def examine_plain(subject: Subject, trial: Trial) -> Finding | None:
    """What has to be right before anything else can be told."""
    return examine_all(subject, trial) or examine_written(subject, trial)


def examine_shapes(subject: Subject, trial: Trial) -> Finding | None:
    """The shapes alone: of no element there is no value."""
    call = with_gradients(subject, trial)
    for backward in (False, True) if call.gradients else (False,):
        for sides in compare(subject, trial, call, backward):
            if sides.actual.shape != sides.truth.shape:
                return mismatch(sides)
    return None


def examine_special(subject: Subject, trial: Trial) -> Finding | None:
    """Infinities, not-a-number, zeros; the largest and the smallest.

    Where the oracle itself gives not-a-number for an infinity, or differs
    from itself between dtypes, either is accepted.
    """
    call = perform(subject, trial, backward=False)
    first = to_float64(call.args[subject.floats[0]])
    for output, sides in zip(
        call.outputs, compare(subject, trial, call, False), strict=True
    ):
        if sides.actual.shape != sides.truth.shape:
            return mismatch(sides)
        other = sides.truth if sides.of_pytorch is None else sides.of_pytorch
        as_oracle = sides._replace(truth=other.double())
        no_number = sides.truth.isnan() | other.isnan()
        from_nan = meets_nan(first, sides.truth)
        dropped = no_number & from_nan & ~sides.actual.isnan()
        wrong = sides.wrong() & as_oracle.wrong() & ~no_number
        wrong &= ~is_poison(output).cpu()
        if finding := mismatch(sides, dropped):
            return because(finding, "nan dropped")
        if finding := mismatch(sides, wrong):
            return finding
    return None


def meets_nan(x: Tensor, result: Tensor) -> Tensor:
    """Which results depend on an input that is no number."""
    if x.shape == result.shape:
        rows = x.isnan().view(len(x), -1) if x.dim() else x.isnan()
        return rows.any(-1).view(-1, *[1] * (x.dim() - 1)).expand(x.shape)
    if x.dim() and result.dim() and len(x) == len(result):
        rows = x.isnan().view(len(x), -1).any(-1)
        return rows.view(-1, *[1] * (result.dim() - 1)).expand(result.shape)
    return torch.full(result.shape, bool(x.isnan().any()))


def examine_small_results(subject: Subject, trial: Trial) -> Finding | None:
    """Whether results near 0 keep their digits."""
    call = with_gradients(subject, trial)
    for backward in (False, True) if call.gradients else (False,):
        for sides in compare(subject, trial, call, backward):
            pure = sides._replace(floor=torch.zeros_like(sides.floor))
            lost = pure.errors() > LOST
            lost &= sides.truth.isfinite() & sides.actual.isfinite()
            if finding := mismatch(sides, lost):
                where = finding.where + span(subject, call, lost)
                return because(
                    replace(finding, where=where), "cancellation in the tail"
                )
    return None


def span(subject: Subject, call: Call, lost: Tensor) -> str:
    """For which x the digits are lost."""
    place = subject.floats[0]
    x = to_float64(call.args[place])
    if x.shape != lost.shape:
        return ""
    low, high = x[lost].min().item(), x[lost].max().item()
    return f", for {subject.name(place)} from {low:.3g} to {high:.3g}"


def examine_fan_in(subject: Subject, trial: Trial) -> Finding | None:
    """A result that is used twice."""
    with called(subject, trial) as call:
        used = [it for it in call.outputs if it.requires_grad]
        weights = [
            make_cotangent(it, trial, place) for place, it in enumerate(used)
        ]
        losses = [
            (2.0 * y * weight).sum() + (y * weight.roll(1)).sum()
            for y, weight in zip(used, weights, strict=True)
        ]
        wanted = wanted_of(call.args)
        found = torch.autograd.grad(
            losses, list(wanted.values()), allow_unused=True
        )
    call.upstream = [to_float64(2.0 * it + it.roll(1)) for it in weights]
    call.gradients = dict(zip(wanted, found, strict=True))
    return wrong_gradient(subject, trial, call)


def examine_backward_twice(subject: Subject, trial: Trial) -> Finding | None:
    """The second backward through one graph."""
    with called(subject, trial) as call:
        differentiate(call, trial, retain=True)
        differentiate(call, trial)
    return because(
        wrong_gradient(subject, trial, call), "backward works once"
    )


def because(finding: Finding | None, cause: str) -> Finding | None:
    """The finding, with what the examination itself shows as its cause."""
    return finding and replace(finding, cause=CAUSE[cause])


def examine_repeated(subject: Subject, trial: Trial) -> Finding | None:
    """Whether a call gives the same again, and leaves earlier ones alone."""
    args = make_arguments(subject, trial)
    others = make_arguments(subject, changed(trial, values="simple"))
    with instruments(trial):
        first = results_of(subject.op, args, subject.kwargs)
        before = [it.detach().clone() for it in first]
        results_of(subject.op, others, subject.kwargs)
        for was, now in zip(before, first, strict=True):
            if memory_differs(was, now.detach().clone()):
                return written_to(
                    "the first result",
                    was,
                    now,
                    "result shared between calls",
                )
        again = results_of(subject.op, args, subject.kwargs)
    for was, now in zip(before, again, strict=True):
        if memory_differs(was, now.detach().clone()):
            return Finding(
                kind="determinism",
                where="the same call, twice",
                got=short(now.flatten()[:SHOWN]),
                expected=short(was.flatten()[:SHOWN]),
            )
    return None


def examine_saved(subject: Subject, trial: Trial) -> Finding | None:
    """An input that is changed in place before the backward."""
    leaves = make_arguments(subject, trial)
    exact = [to_float64(it) for it in leaves]
    args = list(leaves)
    for place in wanted_of(leaves):
        args[place] = leaves[place].clone()
    with instruments(trial) as (seen, poison):
        outputs = results_of(subject.op, args, subject.kwargs)
        call = Call(leaves, exact, outputs, [], [], {}, seen, poison)
        try:
            for place in wanted_of(leaves):
                args[place].add_(1.0)
            differentiate(call, trial)
        except RuntimeError as error:
            if "modified" in str(error) and "inplace" in str(error):
                return None
            raise
    return because(
        wrong_gradient(subject, trial, call),
        "saved outside save_for_backward",
    )


def second_gradients(
    function: Callable[..., Any],
    args: Sequence[Any],
    trial: Trial,
    kwargs: Any,
) -> tuple[list[str], list[Tensor], list[Tensor]]:
    """Gradients of a random combination of the gradients.

    Returns:
        What they are gradients by: positions, then "grad_output"s; the
        gradients; the first gradients.
    """
    wanted = wanted_of(args)
    outputs = results_of(function, args, kwargs)
    used = [it for it in outputs if it.requires_grad]
    if not used:
        raise CutOffError("no output requires a gradient")
    cotangents = [
        make_cotangent(it, trial, place).to(it.dtype).requires_grad_()
        for place, it in enumerate(used)
    ]
    firsts = torch.autograd.grad(
        used,
        list(wanted.values()),
        cotangents,
        create_graph=True,
        materialize_grads=True,
    )
    if not any(it.requires_grad for it in firsts):
        return [], [], list(firsts)
    penalty = sum(
        (first * make_cotangent(first, trial, 7 + place)).sum()
        for place, first in enumerate(firsts)
    )
    assert isinstance(penalty, Tensor)
    by = [*wanted.values(), *cotangents]
    # Not grad(): what once_differentiable puts into the graph raises only in
    # a backward through all of it.
    penalty.backward()
    seconds = [
        torch.zeros_like(it) if it.grad is None else it.grad for it in by
    ]
    names = [str(it) for it in wanted]
    names += ["grad_output"] * len(cotangents)
    return names, seconds, list(firsts)


def second_order_truth(
    subject: Subject, trial: Trial, args: Sequence[Any]
) -> Callable[[Sequence[Tensor]], list[Tensor]]:
    """The oracle's second gradients, as a function of the tensors."""

    def truth_of(values: Sequence[Tensor]) -> list[Tensor]:
        exact = list(args)
        for place, it in zip(subject.tensors, values, strict=True):
            exact[place] = it.detach()
            if place in subject.floats:
                exact[place].requires_grad_()
        return second_gradients(subject.oracle, exact, trial, subject.kwargs)[
            1
        ]

    return truth_of


def oracle_gives_second_order(subject: Subject, trial: Trial) -> bool:
    """Whether the oracle can be differentiated twice."""
    args = make_arguments(subject, trial)
    inputs = [to_float64(args[it]) for it in subject.tensors]
    try:
        return bool(second_order_truth(subject, trial, args)(inputs))
    except Exception:
        return False


def examine_second_order(subject: Subject, trial: Trial) -> Finding | None:
    """The gradient of the gradient: right, or refused."""
    args = make_arguments(subject, trial)
    with instruments(trial):
        names, seconds, _ = second_gradients(
            subject.op, args, trial, subject.kwargs
        )
    inputs = [to_float64(args[it]) for it in subject.tensors]
    truth_of = second_order_truth(subject, trial, args)
    truths = truth_of(inputs)
    if not names:
        return Finding(
            kind="second order",
            where="requires_grad of the gradient, under create_graph=True",
            got="False: no graph",
            expected="a graph",
            cause=CAUSE["second order dropped"],
        )
    eps = torch.finfo(trial.dtype).eps
    costs = rounding_cost(truth_of, inputs, truths, eps)
    others = in_dtype(truth_of, inputs, trial.dtype) or [None] * len(truths)
    for name, got, truth, cost, other in zip(
        names, seconds, truths, costs, others, strict=True
    ):
        by = name if name == "grad_output" else subject.name(int(name))
        part = f"second gradient by {by}"
        floor = floor_of(truth, eps)
        sides = Sides(part, on_cpu(got, truth), truth, cost, floor, other)
        if finding := mismatch(sides):
            none = not got.any() and bool(truth.any())
            return replace(
                finding,
                cause=CAUSE["second order dropped"] if none else None,
            )
    return None


def examine_offsets(subject: Subject, trial: Trial) -> Finding | None:
    """Where a program far out would read and write.

    A grid that stays as it is for a larger tensor has no such program.
    """
    larger = {name: 2 * size for name, size in trial.sizes.items()}
    far = launched(subject, trial, huge=True)
    grown = launched(subject, changed(trial, sizes=larger))
    for wrap in far.wraps:
        if not grows(wrap, far, grown):
            continue
        return Finding(
            kind="offset",
            where=f"{wrap.kernel}, line {wrap.site.line}: {wrap.site.text}",
            got=f"program {wrap.program} addresses element {wrap.addressed}"
            f" of {wrap.parameter}",
            expected=f"element {wrap.meant}",
            cause=CAUSE["32-bit offset"],
        )
    return None


def launched(subject: Subject, trial: Trial, *, huge: bool = False) -> Watch:
    """What was seen in a call and its backward, if it has one."""
    with called(subject, trial, huge=huge) as call:
        if any(it.requires_grad for it in call.outputs):
            differentiate(call, trial)
    return call.seen


def grows(wrap: Wrap, far: Watch, grown: Watch) -> bool:
    """Whether there are more programs on that axis for a larger tensor."""

    def programs(seen: Watch) -> int:
        grids = [it.grid for it in seen.launches if it.kernel == wrap.kernel]
        return max((grid[wrap.axis] for grid in grids), default=0)

    return programs(grown) > programs(far)


def oracle_gives(subject: Subject, trial: Trial, backward: bool) -> bool:
    """Whether the oracle has a result, or a gradient, here at all."""
    args = make_arguments(subject, trial)
    exact = [to_float64(it) for it in args]
    wanted = [
        exact[it]
        for it in subject.floats
        if backward and trial.only in (None, it)
    ]
    for it in wanted:
        it.requires_grad_()
    try:
        outputs = results_of(subject.oracle, exact, subject.kwargs)
        if not backward:
            return True
        sums = [it.sum() for it in outputs if it.requires_grad]
        found = torch.autograd.grad(sums, wanted, allow_unused=True)
    except Exception:
        return False
    return any(it is not None for it in found)
