"""What is mostly wrong with a kernel that is wrong, in one sentence each."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Cause:
    """Why an op fails, as its author would have to know it.

    Attributes:
        name: What it is called, in a report as in the museum of traps.
        sentence: The cause in one sentence.
        chapter: Where the book tells about it, from the site's root.
    """

    name: str
    sentence: str
    chapter: str


BACKWARD = "chapters/16-writing-the-backward-kernel"
CHAINS = "chapters/17-how-autograd-chains-custom-ops"
MUSEUM = "traps"


def in_museum(family: str) -> str:
    return f"{MUSEUM}/#{family}"


CHAIN_RULE = in_museum("chain-rule")
MASKS = in_museum("masks-and-grids")
LAYOUTS_THERE = in_museum("layouts")
PRECISION = in_museum("precision")
REDUCTIONS = in_museum("reductions")
AUTOGRAD = in_museum("autograd")
LAUNCHES = in_museum("launches")

# The most telling first: where several checks fail, the first of their
# causes is the diagnosis.
CAUSES = (
    Cause(
        "no mask",
        "Neither loads nor stores are masked: the last program runs past the"
        " end of its tensors.",
        f"{BACKWARD}/#example-1622-the-same-without-masks",
    ),
    Cause(
        "mask one too many",
        "The mask lets one lane too many through: <= stands where < has to.",
        MASKS,
    ),
    Cause(
        "no mask on a load",
        "A load is not masked: lanes past the end read memory that is not"
        " the tensor's.",
        MASKS,
    ),
    Cause(
        "no mask on a store",
        "A store is not masked: lanes past the end overwrite memory that is"
        " not the tensor's.",
        MASKS,
    ),
    Cause(
        "last block missing",
        "The last, partly filled block is never computed: the grid is"
        " rounded down, n // BLOCK where cdiv(n, BLOCK) has to stand.",
        MASKS,
    ),
    Cause(
        "autotune trials share an output",
        "The kernel adds to what its output holds, and autotune's trials run"
        " it again and again: name the output in reset_to_zero.",
        LAUNCHES,
    ),
    Cause(
        "unwritten output",
        "Elements of an output from torch.empty are never stored: they hold"
        " whatever the memory held before.",
        MASKS,
    ),
    Cause(
        "racy accumulation",
        "Several programs load, add and store the same element without an"
        " atomic: on a GPU additions are lost.",
        REDUCTIONS,
    ),
    Cause(
        "undefined lanes",
        "A masked load without `other` feeds a reduction: its masked lanes"
        " are undefined on a GPU, and 0 only on the interpreter.",
        REDUCTIONS,
    ),
    Cause(
        "writes into its input",
        "The op writes into a tensor that its caller still owns.",
        AUTOGRAD,
    ),
    Cause(
        "writes into grad_output",
        "The backward writes into grad_output, which other branches of the"
        " graph are handed too.",
        f"{CHAINS}/#example-1734-grad_output-is-not-yours",
    ),
    Cause(
        "result shared between calls",
        "The op keeps its output and writes the next call's result into it.",
        AUTOGRAD,
    ),
    Cause(
        "backward works once",
        "The backward changes what was saved for it: the second one through"
        " the same graph is wrong.",
        AUTOGRAD,
    ),
    Cause(
        "no chain rule",
        "The backward gives the local derivative alone: it has to be"
        " multiplied by grad_output.",
        f"{BACKWARD}/#example-1612-the-kernel-that-forgets-to-multiply",
    ),
    Cause(
        "gradient in another input's place",
        "The backward returns its gradients in another order than that of"
        " the inputs.",
        CHAIN_RULE,
    ),
    Cause(
        "gradient missing",
        "An input that the result depends on is given no gradient.",
        CHAIN_RULE,
    ),
    Cause(
        "gradient read with the input's strides",
        "The kernel finds grad_output's elements by the input's strides.",
        LAYOUTS_THERE,
    ),
    Cause(
        "gradient walked in memory order",
        "The kernel walks grad_output's memory in order, and this gradient"
        " lies in another: call .contiguous(), or pass its strides.",
        f"{BACKWARD}/#common-trap_1",
    ),
    Cause(
        "input walked in memory order",
        "The kernel walks an input's memory in order, and this input lies in"
        " another: call .contiguous(), or pass its strides.",
        f"{BACKWARD}/#common-trap_1",
    ),
    Cause(
        "padding lanes in a reduction",
        "Lanes past the end of a row take part in a reduction.",
        REDUCTIONS,
    ),
    Cause(
        "no upcast",
        "The kernel computes in the 16 bits it loads: upcast to float32"
        " first.",
        f"{BACKWARD}/#example-1632-fp16-is-refused",
    ),
    Cause(
        "16-bit accumulator",
        "Partial sums are kept in 16 bits: accumulate in float32.",
        PRECISION,
    ),
    Cause(
        "saved outside save_for_backward",
        "What the backward needs is kept on ctx, where PyTorch does not see"
        " that it was changed in place since.",
        f"{CHAINS}/#example-1735-what-was-saved-is-not-yours-either",
    ),
    Cause(
        "nan dropped",
        "A comparison or a maximum turns not-a-number into a number.",
        PRECISION,
    ),
    Cause(
        "constant factor",
        "The gradient is right but for one factor everywhere: a scale, a"
        " count or a sign is missing.",
        CHAIN_RULE,
    ),
    Cause(
        "term missing",
        "The gradient's formula lacks a term: the input also acts through"
        " something that was taken for a constant.",
        CHAIN_RULE,
    ),
    Cause(
        "cancellation in the tail",
        "Small results are differences of large ones, such as 1 + erf(x):"
        " they cancel, and few digits are left.",
        f"{BACKWARD}/#example-1635-where-erf-ends",
    ),
    Cause(
        "32-bit offset",
        "An offset is computed in 32 bits and wraps from 2**31 on: cast"
        " program_id to int64.",
        LAUNCHES,
    ),
    Cause(
        "cut off the graph",
        "The result does not require a gradient though an input does: the"
        " kernel is launched outside any autograd.Function.",
        f"{BACKWARD}/#163-wiring-it-and-precision",
    ),
    Cause(
        "wrong current device",
        "The kernel is launched on the current GPU, not on the tensor's.",
        LAUNCHES,
    ),
    Cause(
        "second order dropped",
        "The backward launches its kernel bare, so its result has no graph:"
        " a second derivative is dropped without a word.",
        f"{CHAINS}/#example-1741-the-penalty-that-was-not-there",
    ),
)

# What may be so on purpose: a failure without a cause comes before it.
LEAST_TELLING = "second order dropped"

CAUSE = {cause.name: cause for cause in CAUSES}
