"""The press on the command line: `python -m bookpress`."""

import argparse
import json
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from bookpress.errors import PressError, nearest
from bookpress.expected import merged, write_whole
from bookpress.press import Press, Proof, cache_wanted
from bookpress.recordings import Outdated, outdated
from bookpress.snippet import (
    DEVICES,
    Snippet,
    all_snippets,
    find_snippet,
    plain_name,
    running_on,
)
from bookpress.sources import read_text

ACCEPTED = "interpreter"  # a GPU's outputs are recorded, never accepted
EXAMPLES = """
examples:
  python -m bookpress run                        prove every snippet
  python -m bookpress run ch16/02_chain_rule_trap
  python -m bookpress run --device cuda          prove them on a GPU
  python -m bookpress accept ch16                record a chapter's outputs
  python -m bookpress list --json | jq .
  python -m bookpress list --stale               what is to be recorded again
  python -m bookpress standalone build/          write self-contained files
  python -m bookpress record                     on a machine with a GPU

A snippet is named as it stands under snippets/, with or without `.py`; the
name of a folder means all that is in it; no name means all. The metadata of
a snippet is explained in CONTRIBUTING.md.
"""


def project_root() -> Path:
    """The folder with `snippets/`, here or above.

    Raises:
        PressError: there is none.
    """
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "snippets").is_dir() and (folder / "src").is_dir():
            return folder
    raise PressError(
        f"{here}: no project here or above (a folder with snippets/ and "
        "src/); change into the book's folder"
    )


def chosen(names: Sequence[str], root: Path) -> list[Snippet]:
    """The snippets that are named; all for no name.

    Raises:
        PressError: a name fits no snippet.
    """
    everything = all_snippets(root)
    if not names:
        return everything
    found: dict[Snippet, None] = {}
    for name in names:
        wanted = plain_name(name).rstrip("/")
        inside = [s for s in everything if s.name.startswith(f"{wanted}/")]
        if not inside and "/" not in wanted:
            chapters = {s.chapter for s in everything}
            raise PressError(
                f"no chapter {wanted!r}: {nearest(wanted, chapters)}"
            )
        for snippet in inside or [find_snippet(wanted, everything)]:
            found[snippet] = None
    return list(found)


class Progress:
    """One line for every proof; on a terminal also how many are to come."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._terminal = sys.stderr.isatty()
        self._status()

    def __call__(self, proof: Proof) -> None:
        self._done += 1
        words = "as before" if proof.cached else "proven"
        if proof.failures:
            words = "drifted" if proof.drifted else "FAILED"
        seconds = f"{proof.run.seconds:.2f} s" if proof.run else ""
        if self._terminal:
            print("\r\033[K", end="", file=sys.stderr)
        print(f"{proof.name:50} {seconds:>8}  {words}", file=sys.stderr)
        self._status()

    def _status(self) -> None:
        if self._terminal and self._done < self._total:
            line = f"… {self._done} of {self._total} done"
            print(line, end="", file=sys.stderr, flush=True)


def run(arguments: argparse.Namespace, root: Path) -> int:
    snippets = running_on(arguments.device, chosen(arguments.snippets, root))
    press = Press(
        root,
        arguments.device,
        use_cache=cache_wanted() and not arguments.no_cache,
        report=Progress(len(snippets)),
    )
    proofs = press.prove(snippets)
    failures = [f for proof in proofs.values() for f in proof.failures]
    if len(proofs) == 1:
        print("".join(proof.output for proof in proofs.values()), end="")
    for failure in failures:
        print(f"\n{failure}", file=sys.stderr)
    print(
        f"{len(proofs)} snippets, {len(failures)} failures", file=sys.stderr
    )
    return 1 if failures else 0


def accept(arguments: argparse.Namespace, root: Path) -> int:
    """Record the outputs of this run, of all that ran as it should."""
    snippets = running_on(ACCEPTED, chosen(arguments.snippets, root))
    press = Press(root, ACCEPTED, report=Progress(len(snippets)))
    proofs = press.prove(snippets)
    failed = 0
    for snippet in snippets:
        proof = proofs[snippet.name]
        failures = proof.failures
        if proof.drifted:
            failures = _record(snippet, proof.output)
        if failures:
            failed += 1
            print("", *failures, sep="\n", file=sys.stderr)
    return 1 if failed else 0


def _record(snippet: Snippet, output: str) -> tuple[str, ...]:
    """Record an output; why it could not be."""
    path = snippet.output_path(ACCEPTED)
    try:
        old = read_text(path, snippet.root) if path.is_file() else ""
        write_whole(path, merged(old, output, snippet.settings()))
    except (PressError, OSError) as error:
        return (f"{snippet.relative}: not recorded: {error}",)
    print(f"recorded {path.relative_to(snippet.root)}")
    return ()


def list_snippets(arguments: argparse.Namespace, root: Path) -> int:
    # Whoever reads may have enough: `list | head`.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if arguments.stale:
        return list_outdated(arguments, root)
    rows = []
    for snippet in all_snippets(root):
        settings = snippet.settings()
        rows.append(
            {
                "snippet": snippet.name,
                "devices": list(settings.devices),
                "exit_code": settings.exit_code,
                "fails": settings.fails,
                "recorded": sorted(
                    path.suffixes[-2][1:]
                    for path in snippet.path.parent.glob(
                        f"{snippet.path.stem}.*.out"
                    )
                ),
            }
        )
    if arguments.json:
        print(json.dumps(rows, indent=2))
        return 0
    for row in rows:
        recorded = ", ".join(row["recorded"]) or "nothing recorded"
        badge = f"  [{row['fails']}]" if row["fails"] else ""
        print(f"{row['snippet']:40} {recorded}{badge}")
    return 0


def list_outdated(arguments: argparse.Namespace, root: Path) -> int:
    rows = outdated(all_snippets(root))
    if arguments.json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
    else:
        print_outdated(rows)
    return 1 if rows else 0


def print_outdated(rows: Sequence[Outdated]) -> None:
    for row in rows:
        made = f"commit {row.commit}, {row.date}"
        what = "nothing recorded" if row.commit is None else made
        print(f"{row.snippet:40} {row.device:12} {what}")


def standalone(arguments: argparse.Namespace, root: Path) -> int:
    from bookpress.standalone import write_all

    folder = Path(arguments.folder).resolve()
    for path in write_all(root, folder):
        print(path.relative_to(folder))
    return 0


def record(arguments: argparse.Namespace, root: Path) -> int:
    from bookpress.record import record_on_gpu

    snippets = running_on("cuda", chosen(arguments.snippets, root))
    progress = Progress(len(snippets))
    code = record_on_gpu(root, snippets, arguments.commit, progress)
    if rows := outdated(all_snippets(root)):
        print("\nstale, or not recorded:")
        print_outdated(rows)
    return code


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="python -m bookpress",
        description="Run the book's snippets and compare what they print.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    def command(function, name: str, text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(function=function)
        return sub

    def names(sub: argparse.ArgumentParser) -> None:
        sub.add_argument(
            "snippets",
            nargs="*",
            metavar="SNIPPET",
            help="ch16/02_chain_rule_trap, or ch16 for all of a chapter",
        )

    sub = command(run, "run", "prove snippets; print the output of one")
    names(sub)
    sub.add_argument(
        "--no-cache",
        action="store_true",
        help="run even what has run before with the same digest",
    )
    sub.add_argument(
        "--device",
        choices=DEVICES,
        default=DEVICES[0],
        help="where to run them (default: %(default)s)",
    )
    sub = command(accept, "accept", "record the outputs that drifted")
    names(sub)
    sub = command(list_snippets, "list", "list the snippets")
    sub.add_argument("--json", action="store_true", help="as JSON")
    sub.add_argument(
        "--stale",
        action="store_true",
        help="only what is not recorded, or for an earlier version of the "
        "code; exit code 1 if there is any",
    )
    sub = command(
        standalone, "standalone", "write the self-contained files of the book"
    )
    sub.add_argument("folder", metavar="FOLDER", help="where to write them")
    sub = command(
        record,
        "record",
        "record outputs on this machine's GPU (needs only torch and triton)",
    )
    names(sub)
    sub.add_argument(
        "--commit", help="the commit to name in them (default: git's HEAD)"
    )
    return top


def main() -> int:
    arguments = parser().parse_args()
    try:
        return arguments.function(arguments, project_root())
    except (PressError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
