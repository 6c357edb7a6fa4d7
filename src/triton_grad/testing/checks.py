"""The checks: which trials each of them makes, and how it judges them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import torch

from triton_grad.device import DEVICE
from triton_grad.testing.arguments import (
    TensorArgument,
    layouts_of,
    names_of,
)
from triton_grad.testing.causes import CAUSE
from triton_grad.testing.diagnosis import (
    Examine,
    attempt,
    failure_of,
    told,
)
from triton_grad.testing.examine import (
    examine_all,
    examine_alone,
    examine_backward_twice,
    examine_bounds,
    examine_cut_off,
    examine_fan_in,
    examine_gradient,
    examine_layout_bounds,
    examine_offsets,
    examine_plain,
    examine_races,
    examine_repeated,
    examine_saved,
    examine_second_order,
    examine_shapes,
    examine_small_results,
    examine_special,
    examine_untouched,
    examine_values,
    examine_written,
    oracle_gives,
    oracle_gives_second_order,
    with_gradients,
)
from triton_grad.testing.report import BAD, Failure, Result, Verdict
from triton_grad.testing.trials import Subject, Trial

# Around what kernels take for a block, and for a row.
LINE_SIZES = (1, 2, 3, 7, 31, 33, 100, 127, 128, 129, 255, 1000, 1023, 1025)
ROW_SIZES = (1, 2, 3, 5, 16, 17, 31, 64, 100, 127, 129, 260, 1000)
ROW_COUNTS = (1, 2, 5, 33, 70)
SMALL = 3
LONG_ROW = 2500
SPECIAL_COUNT = 12
TAIL_COUNT = 2049
# Causes that say something only where the values are right.
OF_GRADIENTS = [
    CAUSE["no chain rule"],
    CAUSE["gradient in another input's place"],
    CAUSE["gradient missing"],
    CAUSE["constant factor"],
    CAUSE["term missing"],
]


@dataclass(frozen=True)
class Check:
    """One thing that a right op does.

    Attributes:
        name: What it is called in a report.
        sentence: What is tried.
        run: Makes it, where there is something to look at.
        asked: Whether it is run only where it is asked for.
        watched: Whether it looks at what kernels do on the interpreter.
    """

    name: str
    sentence: str
    run: Callable[[Subject], Result]
    asked: bool = False
    watched: bool = False

    def __call__(self, subject: Subject) -> Result:
        """Check an op."""
        why_not = nothing_to_watch(subject) if self.watched else ""
        result = not_tried(why_not) if why_not else self.run(subject)
        return replace(result, check=self.name)


def nothing_to_watch(subject: Subject) -> str:
    """Why the interpreter sees no kernel of the op; empty if it does."""
    trial = Trial(sized(subject, SMALL), autotune="trials")
    try:
        call = with_gradients(subject, trial)
    except Exception as error:  # told by the check of the values
        return f"the interpreter cannot: {told(error)}"
    if not call.seen.launches:
        return "no Triton kernel ran on the interpreter"
    return ""


def sized(subject: Subject, *sizes: int) -> Mapping[str, int]:
    """Sizes of the dimensions: the last given is the last dimension's."""
    if subject.elementwise:
        return {f"axis{place}": size for place, size in enumerate(sizes)}
    names = names_of(subject.arguments)
    few = dict.fromkeys(names, SMALL)
    if not names:
        return few
    few[last_name(subject)] = sizes[-1]
    if len(sizes) > 1:
        rest = [name for name in names if name != last_name(subject)]
        for name in rest[:1]:
            few[name] = sizes[0]
    return few


def last_name(subject: Subject) -> str:
    """The dimension that rows lie along: the last of the first tensor."""
    first: TensorArgument = subject.arguments[subject.floats[0]]
    named = [it for it in first.dims or () if not it.isdigit()]
    return named[-1] if named else names_of(subject.arguments)[0]


def sizes_of(subject: Subject) -> list[Mapping[str, int]]:
    """Sizes around the edges of blocks, of rows and of row counts."""
    if subject.elementwise:
        sizes = {*LINE_SIZES, *around_block(subject)}
        return [sized(subject, size) for size in sorted(sizes)]
    found = [sized(subject, size) for size in ROW_SIZES]
    if len(names_of(subject.arguments)) > 1:
        found += [sized(subject, count, 5) for count in ROW_COUNTS]
    return [it for n, it in enumerate(found) if it not in found[:n]]


def around_block(subject: Subject) -> list[int]:
    """Sizes around the edges of the blocks that the op itself launches."""
    many = 1 << 12
    trial = Trial(sized(subject, many))
    try:
        launches = with_gradients(subject, trial).seen.launches
    except Exception:  # told by the check of the values
        return []
    blocks = {many // it.grid[0] for it in launches if it.grid[0] > 1}
    return [
        size
        for block in blocks
        for size in (block - 1, block, block + 1, 2 * block + 17)
        if 0 < size <= 2 * many
    ]


def judge(
    subject: Subject,
    examine: Examine,
    trials: Iterable[Trial],
    backward: bool,
    beside: Examine | None = None,
    tried: str = "",
) -> Result:
    """Examine trials until one fails; make that small, and explain it.

    Args:
        subject: The op.
        examine: What is looked at.
        trials: Where.
        backward: Whether gradients are, for the words.
        beside: What has to be right first. A trial whose plain counterpart,
            contiguous and in float32, is wrong in this shows nothing new.
        tried: What was tried, in words, if the number of trials is not it.
    """
    trials = list(trials)
    refused, spoiled, words = 0, 0, ""
    for trial in trials:
        finding = attempt(examine, subject, trial)
        if finding is None:
            continue
        if finding.verdict is Verdict.REFUSES:
            refused, words = refused + 1, finding.got
            continue
        if beside and attempt(beside, subject, Trial(trial.sizes)):
            spoiled += 1
            continue
        failure, finding = failure_of(
            examine, subject, trial, finding, backward
        )
        note = failure.cause.name if failure.cause else finding.where
        return Result("", finding.verdict, note, failure)
    if spoiled:
        return not_tried("what is wrong without this is wrong here too")
    if refused and refused == len(trials):
        return Result("", Verdict.REFUSES, words)
    plural = "s" if len(trials) != 1 else ""
    note = tried or f"{len(trials)} trial{plural}"
    if refused:
        note += f", {refused} of them refused: {words}"
    return Result("", Verdict.RIGHT, note)


def not_tried(why: str) -> Result:
    return Result("", Verdict.NOT_TRIED, why)


def check_values(subject: Subject) -> Result:
    sizes = sizes_of(subject)
    trials = [Trial(it) for it in sizes]
    few = sized(subject, 2, 37) if len(sizes[0]) > 1 else sized(subject, 37)
    trials += [Trial(few, values=it) for it in ("negative", "large")]
    result = judge(subject, examine_values, trials, False)
    if result.verdict is Verdict.REFUSES:
        # What takes no float32 at all was called wrongly.
        failure = Failure(
            call=f"float32, contiguous, of {len(trials)} sizes",
            where="every call raises",
            got=result.note,
            expected="a result",
        )
        return Result("", Verdict.CRASHES, failure.where, failure)
    return result


def check_gradient(subject: Subject) -> Result:
    sizes = sizes_of(subject)
    if not oracle_gives(subject, Trial(sizes[0]), backward=True):
        return not_tried("the oracle has no gradient")
    trials = [Trial(it) for it in sizes]
    cut_off = judge(subject, examine_cut_off, trials[:1], True)
    if cut_off.verdict in BAD:
        return cut_off
    result = judge(subject, examine_gradient, trials, True)
    failure = result.failure
    if failure and failure.cause in OF_GRADIENTS and spoilt(subject, trials):
        failure = replace(failure, cause=None)
        return replace(result, note="as the values are", failure=failure)
    return result


def spoilt(subject: Subject, trials: Iterable[Trial]) -> bool:
    """Whether values are wrong, of which a gradient may be right."""
    return any(attempt(examine_values, subject, it) for it in trials)


def differentiable(check: Callable[[Subject], Result]):
    """The check, where there is a gradient to look at."""

    def run(subject: Subject) -> Result:
        trial = Trial(sized(subject, SMALL))
        if not oracle_gives(subject, trial, backward=True):
            return not_tried("the oracle has no gradient")
        if attempt(examine_cut_off, subject, trial):
            return not_tried("no gradient was found")
        return check(subject)

    return run


def shaped(subject: Subject) -> Mapping[str, int]:
    """Two-dimensional sizes, if there can be two dimensions."""
    return sized(subject, 5, 7)


@differentiable
def check_losses(subject: Subject) -> Result:
    layouts = ("contiguous", "one element", *layouts_of(2))
    cotangents = [("ones", "one element"), ("mean", "one element")]
    cotangents += [("random", it) for it in dict.fromkeys(layouts)]
    trials = [
        Trial(shaped(subject), cotangent=values, cotangent_layout=layout)
        for values, layout in cotangents
    ]
    dims = min_output_dims(subject)
    trials = [it for it in trials if it.cotangent_layout in has_layouts(dims)]
    return judge(subject, examine_gradient, trials, True, examine_plain)


def min_output_dims(subject: Subject) -> int:
    call = with_gradients(subject, Trial(shaped(subject)))
    return min(it.dim() for it in call.outputs)


def has_layouts(dims: int) -> list[str]:
    return ["contiguous", *layouts_of(dims)]


def layout_trials(subject: Subject) -> Iterator[Trial]:
    """Each tensor in each layout; all in one; the gradient in it too."""
    sizes = shaped(subject)
    for place in subject.tensors:
        dims = len(subject.arguments[place].shape(sizes))
        for layout in layouts_of(dims):
            yield Trial(sizes, layouts={place: layout})
    if len(subject.tensors) > 1:
        for layout in ("sliced", "transposed"):
            all_in_one = {
                place: layout
                for place in subject.tensors
                if layout
                in layouts_of(len(subject.arguments[place].shape(sizes)))
            }
            yield Trial(sizes, layouts=all_in_one)


def check_layouts(subject: Subject) -> Result:
    trials = layout_trials(subject)
    return judge(subject, examine_all, trials, True, examine_plain)


def check_dtypes(subject: Subject) -> Result:
    sizes = [sized(subject, it) for it in (5, 130, LONG_ROW)]
    trials = [Trial(it, dtype) for dtype in subject.dtypes for it in sizes]
    trials = [it for it in trials if it.dtype != torch.float32]
    if not trials:
        return not_tried("float32 alone was asked for")
    return judge(subject, examine_all, trials, True, examine_plain)


def check_special(subject: Subject) -> Result:
    sizes = sized(subject, SPECIAL_COUNT, 5)
    if subject.elementwise:
        sizes = sized(subject, SPECIAL_COUNT)
    trial = Trial(sizes, values="special")
    return judge(subject, examine_special, [trial], False, examine_plain)


def check_small_results(subject: Subject) -> Result:
    if not subject.elementwise or len(subject.floats) != 1:
        return not_tried("for an elementwise op of one tensor")
    trial = Trial(sized(subject, TAIL_COUNT), values="tail")
    return judge(
        subject,
        examine_small_results,
        [trial],
        True,
        examine_plain,
        "x from -12 to 12",
    )


def check_written(subject: Subject) -> Result:
    trials = [Trial(it) for it in sizes_of(subject)]
    return judge(subject, examine_written, trials, True)


def check_bounds(subject: Subject) -> Result:
    trials = [Trial(it) for it in sizes_of(subject)]
    result = judge(subject, examine_bounds, trials, True)
    if result.verdict in BAD:
        return result
    others = list(layout_trials(subject))
    others += [
        Trial(shaped(subject), cotangent_layout=it)
        for it in has_layouts(min_output_dims(subject))
    ]
    in_layouts = judge(subject, examine_layout_bounds, others, True)
    if in_layouts.verdict in BAD:
        return in_layouts
    return Result("", Verdict.RIGHT, f"{len(trials) + len(others)} trials")


def check_untouched(subject: Subject) -> Result:
    trials = [Trial(sized(subject, 37)), Trial(shaped(subject))]
    return judge(subject, examine_untouched, trials, True)


def check_races(subject: Subject) -> Result:
    trials = [Trial(it) for it in sizes_of(subject)]
    return judge(subject, examine_races, trials, True)


def check_undefined(subject: Subject) -> Result:
    trials = [Trial(it, undefined="wild") for it in sizes_of(subject)]
    return judge(subject, examine_all, trials, True, examine_plain)


def check_autotune(subject: Subject) -> Result:
    sizes = sized(subject, 37)
    trial = Trial(sizes, autotune="trials")
    if not with_gradients(subject, trial).seen.autotuned:
        return not_tried("no kernel is autotuned over several configurations")
    return judge(subject, examine_all, [trial], True, examine_plain)


def check_offsets(subject: Subject) -> Result:
    size = 4099 if subject.elementwise else LONG_ROW
    trials = [Trial(sized(subject, size)), Trial(shaped(subject))]
    return judge(subject, examine_offsets, trials, True)


def check_repeated(subject: Subject) -> Result:
    trials = [Trial(sized(subject, it)) for it in (37, 1025)]
    return judge(subject, examine_repeated, trials, False, examine_untouched)


@differentiable
def check_fan_in(subject: Subject) -> Result:
    return judge(
        subject, examine_fan_in, [Trial(shaped(subject))], True, examine_plain
    )


@differentiable
def check_backward_twice(subject: Subject) -> Result:
    trial = Trial(shaped(subject))
    return judge(
        subject, examine_backward_twice, [trial], True, examine_plain
    )


@differentiable
def check_saved(subject: Subject) -> Result:
    return judge(
        subject, examine_saved, [Trial(shaped(subject))], True, examine_plain
    )


@differentiable
def check_second_order(subject: Subject) -> Result:
    trial = Trial(sized(subject, 2, 3))
    if not oracle_gives_second_order(subject, trial):
        return not_tried("the oracle has no second gradient")
    result = judge(
        subject, examine_second_order, [trial], True, examine_plain
    )
    if "once_differentiable" in result.note:
        note = (
            f"{result.note}; where grad_output itself needs no gradient,"
            " once_differentiable drops it without a word"
        )
        return replace(result, note=note)
    return result


@differentiable
def check_each_alone(subject: Subject) -> Result:
    if len(subject.floats) < 2:
        return not_tried("there is one input")
    trials = [Trial(shaped(subject), only=it) for it in subject.floats]
    # An input that the oracle takes as a constant has no gradient.
    trials = [it for it in trials if oracle_gives(subject, it, backward=True)]
    return judge(subject, examine_alone, trials, True, examine_plain)


def check_empty(subject: Subject) -> Result:
    sizes = dict(sized(subject, 4))
    sizes[next(iter(sizes))] = 0
    if not oracle_gives(subject, Trial(sizes), backward=False):
        return not_tried("the oracle takes no empty tensor")
    return judge(subject, examine_shapes, [Trial(sizes)], True)


def check_other_gpu(subject: Subject) -> Result:
    if torch.cuda.device_count() < 2 or DEVICE == "cpu":
        return not_tried("it takes two GPUs")
    trial = Trial(sized(subject, 1025), device="cuda:1")
    result = judge(subject, examine_all, [trial], True)
    if result.failure is None:
        return result
    # Told even if all else fails after it: a fault ends the GPU's context.
    cause = CAUSE["wrong current device"]
    failure = replace(result.failure, cause=cause)
    return replace(result, note=cause.name, failure=failure)


def check_compile(subject: Subject) -> Result:
    # Inductor needs a compiler of C++ on a CPU.
    backend = "inductor" if DEVICE == "cuda" else "aot_eager"
    compiled = torch.compile(subject.op, backend=backend)
    return judge_transformed(subject, compiled)


def check_vmap(subject: Subject) -> Result:
    def mapped(*args: object, **kwargs: object) -> object:
        in_dims = tuple(
            0 if isinstance(it, torch.Tensor) else None for it in args
        )
        twice = [
            it.expand(2, *it.shape) if isinstance(it, torch.Tensor) else it
            for it in args
        ]
        results = torch.func.vmap(subject.op, in_dims)(*twice, **kwargs)
        if isinstance(results, torch.Tensor):
            return results[1]
        return [it[1] for it in results]

    return judge_transformed(subject, mapped)


def judge_transformed(subject: Subject, op: Callable[..., object]) -> Result:
    """Judge what one of PyTorch's transformations makes of the op."""
    trial = Trial(shaped(subject), poison=False)
    return judge(replace(subject, op=op), examine_all, [trial], True)


CHECKS = (
    Check("values", "the result, at sizes around blocks", check_values),
    Check("gradient", "a random upstream gradient, the same", check_gradient),
    Check("losses", "gradients as losses hand them down", check_losses),
    Check("layouts", "inputs that are not contiguous", check_layouts),
    Check("dtypes", "float16, bfloat16, float64", check_dtypes),
    Check("special values", "infinities, nan, the largest", check_special),
    Check(
        "small results", "digits where results vanish", check_small_results
    ),
    Check("empty tensors", "a dimension of size 0", check_empty),
    Check("bounds", "no access outside a tensor", check_bounds, watched=True),
    Check("written", "every element of an output stored", check_written),
    Check(
        "undefined lanes",
        "masked lanes as on a GPU",
        check_undefined,
        watched=True,
    ),
    Check(
        "races", "programs that meet in an element", check_races, watched=True
    ),
    Check(
        "offsets",
        "programs beyond 2**31 elements",
        check_offsets,
        watched=True,
    ),
    Check(
        "autotune",
        "what the trials leave behind",
        check_autotune,
        watched=True,
    ),
    Check("inputs untouched", "nothing of the caller's", check_untouched),
    Check("repeated calls", "the same again, apart", check_repeated),
    Check("each input alone", "one input with a gradient", check_each_alone),
    Check("fan-in", "a result used twice", check_fan_in),
    Check("backward twice", "retain_graph=True", check_backward_twice),
    Check("saved tensors", "an input changed in between", check_saved),
    Check("second order", "right, or refused", check_second_order),
    Check("another GPU", "tensors not on the current one", check_other_gpu),
    Check("compile", "under torch.compile", check_compile, asked=True),
    Check("vmap", "under torch.func.vmap", check_vmap, asked=True),
)

CHECK = {check.name: check for check in CHECKS}
