"""Check an op from the command line: `python -m triton_grad.check`."""

import argparse
import ast
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from rich.console import Console
from rich.progress import (
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from triton_grad.launch import FLOAT_DTYPES
from triton_grad.testing.check import check_op
from triton_grad.testing.checks import CHECKS
from triton_grad.testing.isolation import WorkerError
from triton_grad.testing.report import Report
from triton_grad.testing.spelled import Spelled

DESCRIPTION = """
Check an op, and its gradient, against an oracle in float64.

What is asked of it: see --list. Exit code: 0 if no check finds the op wrong,
1 if one does or the op crashes, 2 if it could not be checked.
"""
EXAMPLES = """
examples:
  python -m triton_grad.check my_module:my_gelu \\
      --oracle torch.nn.functional.gelu
  python -m triton_grad.check my_module:MySoftmax.apply \\
      --oracle "lambda x: torch.softmax(x, -1)" --inputs "rows cols"
  python -m triton_grad.check my_module:rms_norm \\
      --oracle my_module:rms_norm_in_torch \\
      --inputs "rows cols" cols 1e-5 --dtypes float32 bfloat16
"""


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="python -m triton_grad.check",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument(
        "op",
        type=Spelled,
        metavar="MODULE:OP",
        help="a function of tensors; this folder is looked into",
    )
    top.add_argument(
        "--oracle",
        type=Spelled,
        required=True,
        metavar="NAME",
        help="computes the same of float64 tensors: module:name, a dotted "
        "name, or an expression of torch and F",
    )
    top.add_argument(
        "--inputs",
        type=_constant,
        nargs="+",
        default=["..."],
        metavar="INPUT",
        help="one for each argument: a tensor's shape in words ('...' for "
        "any, 'rows cols', 'int rows < cols'), or a constant "
        "(default: '...')",
    )
    top.add_argument(
        "--kwargs",
        type=_named_constant,
        nargs="+",
        default=[],
        metavar="NAME=VALUE",
        help="arguments by name, for the op and the oracle",
    )
    top.add_argument(
        "--dtypes",
        type=_dtype,
        nargs="+",
        default=FLOAT_DTYPES,
        metavar="DTYPE",
        help="what it has to be right for, such as float32 (default: all)",
    )
    top.add_argument(
        "--checks",
        nargs="+",
        metavar="CHECK",
        help="only these (default: all)",
    )
    top.add_argument(
        "--known",
        type=_named,
        nargs="+",
        default=[],
        metavar="CHECK=WHY",
        help="checks that may fail, and why",
    )
    top.add_argument(
        "--timeout",
        type=_seconds,
        default=60.0,
        metavar="SECONDS",
        help="for each check (default: 60)",
    )
    top.add_argument("--json", action="store_true", help="report as JSON")
    top.add_argument(
        "--list", action=_List, help="list the checks, and do nothing else"
    )
    return top


class _List(argparse.Action):
    """Prints the checks and ends, as --help does."""

    def __init__(self, option_strings: list[str], dest: str, help: str):
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(
        self, parser: argparse.ArgumentParser, *others: object
    ) -> None:
        width = max(len(check.name) for check in CHECKS)
        for check in CHECKS:
            asked = " (only if asked for: --checks)" if check.asked else ""
            print(f"{check.name:{width}}  {check.sentence}{asked}")
        parser.exit(0)


def _constant(text: str) -> Any:
    """A number, True, False or None; any other text stays text."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return value if isinstance(value, int | float | None) else text


def _seconds(text: str) -> float:
    """A number above 0."""
    seconds = float(text)
    if not seconds > 0.0:
        raise argparse.ArgumentTypeError(f"{text} is no time above 0")
    return seconds


def _named(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def _named_constant(text: str) -> tuple[str, Any]:
    name, value = _named(text)
    return name, _constant(value)


def _dtype(name: str) -> torch.dtype:
    dtypes = {str(it).removeprefix("torch."): it for it in FLOAT_DTYPES}
    if name not in dtypes:
        raise argparse.ArgumentTypeError(
            f"{name!r} is none of {', '.join(dtypes)}"
        )
    return dtypes[name]


def check_as_told(
    arguments: argparse.Namespace, progress: Callable[[str], None]
) -> Report:
    """Call `check_op` with what stands on the command line."""
    for spelled in (arguments.op, arguments.oracle):
        spelled.found()  # before anything else is done
    return check_op(
        arguments.op,
        arguments.oracle,
        tuple(arguments.inputs),
        kwargs=dict(arguments.kwargs),
        dtypes=arguments.dtypes,
        checks=arguments.checks,
        known=dict(arguments.known),
        timeout=arguments.timeout,
        progress=progress,
    )


@contextmanager
def shown_progress(total: int) -> Iterator[Callable[[str], None]]:
    """What is to be called with each check that starts.

    On a terminal one line that moves and goes away, in a log a line a check.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda check: print(check, file=sys.stderr, flush=True)
        return
    columns = (
        SpinnerColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda check: bar.update(task, description=check, advance=1)


def show(report: Report, as_json: bool) -> None:
    console = Console()
    if as_json:
        print(report.to_json())
    elif console.is_terminal:
        report.print(console)
    else:
        print(report)


def main(words: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        words: The command line; None: the program's own.

    Returns:
        Its exit code.
    """
    command = parser()
    arguments = command.parse_args(words)
    begin = time.monotonic()
    try:
        names = arguments.checks or [it for it in CHECKS if not it.asked]
        with shown_progress(len(names)) as progress:
            report = check_as_told(arguments, progress)
    except (ValueError, WorkerError) as error:
        command.error(str(error))
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    show(report, arguments.json)
    print(f"{time.monotonic() - begin:.1f} s", file=sys.stderr)
    return 0 if report.passed else 1


if __name__ == "__main__":
    sys.exit(main())
