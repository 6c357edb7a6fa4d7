"""The book as it is being built: what was proven, and what is wrong."""

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from bookpress.definitions import Module
from bookpress.digest import versions
from bookpress.errors import PressError, nearest
from bookpress.hardware import slug
from bookpress.museum import Section, Trap, read_sections, read_trap
from bookpress.pages import (
    LANGUAGES,
    Fence,
    all_fences,
    all_values,
    wrong_fence,
)
from bookpress.press import Press, Proof, read_values, value_of
from bookpress.recordings import Recording, recordings, unexplained
from bookpress.snippet import (
    Snippet,
    all_snippets,
    find_snippet,
    plain_name,
    running_on,
)
from bookpress.standalone import (
    UnwritableError,
    chapters,
    standalone_jobs,
    write_all,
)

FAILS = re.compile(r"^Fails: (.+)$", re.MULTILINE)


class UnprovenError(PressError):
    """Something cannot be shown, for a problem that the book has noted."""


@dataclass(frozen=True)
class Problem:
    """Something wrong, at a place in the book's sources.

    Attributes:
        place: `docs/chapters/16-….md:120`, or the file alone.
        message: What is wrong and the way out.
    """

    place: str
    message: str


@dataclass(frozen=True)
class Definition:
    """Definitions by name, from their home.

    Attributes:
        source: Their text.
        where: The file they stand in.
        fails: How a deliberately wrong one fails.
    """

    source: str
    where: str
    fails: str | None


class Book:
    """Everything that pages show, for one build.

    Args:
        root: The project's folder.
        report: Called with every proof as it comes.
        use_cache: Take a run with the same digest for this one.
        device: "interpreter", or "cuda" to prove the snippets there too.

    Raises:
        PressError: the device, torch or triton is missing.
    """

    def __init__(
        self,
        root: Path,
        report: Callable[[Proof], None],
        use_cache: bool,
        device: str = "interpreter",
    ) -> None:
        self.root = root.resolve()
        self.problems: list[Problem] = []
        self.standalone = self.root / ".bookpress" / "standalone"
        self.snippets = all_snippets(self.root)
        press = Press(self.root, use_cache=use_cache, report=report)
        self._fresh: dict[str, Recording] = {}
        if device == "cuda":
            gpu = Press(self.root, "cuda", use_cache, report)
            self._fresh = self._prove_on_gpu(gpu)
        self.proofs = self._prove_snippets(press)
        self._refuse_unexplained()
        self.programs = self._prove_programs(press)
        self._refuse_wrong_fences()

    @cached_property
    def fences(self) -> list[Fence]:
        return all_fences(self.root)

    def _prove_snippets(self, press: Press) -> dict[str, Proof]:
        proofs = press.prove(running_on(press.device, self.snippets))
        for name, proof in proofs.items():
            for failure in proof.failures:
                self._note_use(name, failure)
        return proofs

    def _prove_on_gpu(self, press: Press) -> dict[str, Recording]:
        """What the snippets print on this machine's GPU, as a recording."""
        device = slug(press.hardware["gpu"])
        facts = {**press.hardware, **versions()}
        return {
            name: Recording(
                device,
                {**facts, "exit code": str(proof.run.exit_code)},
                proof.output,
                stale=False,
                fresh=True,
            )
            for name, proof in self._prove_snippets(press).items()
            if proof.run and (proof.drifted or not proof.failures)
        }

    def _refuse_unexplained(self) -> None:
        for snippet in self.snippets:
            proof = self.proofs.get(snippet.name)
            if proof is None or proof.failures:
                continue  # it is noted, or has nothing to be compared with
            try:
                failures = unexplained(snippet)
            except PressError as error:
                failures = [str(error)]
            for failure in failures:
                self._note_use(snippet.name, failure)

    def _note_use(self, name: str, failure: str) -> None:
        """Note what is wrong with a snippet or a chapter where it is used."""
        places = [
            fence.place
            for fence in self.fences
            if fence.language in LANGUAGES
            and name in map(plain_name, fence.body)
        ] or [
            place
            for snippet, place in all_values(self.root)
            if plain_name(snippet) == name
        ]
        for place in places or ["no page shows it"]:
            self.problems.append(Problem(place, failure))

    def _refuse_wrong_fences(self) -> None:
        for fence in self.fences:
            if wrong := wrong_fence(fence):
                self.problems.append(Problem(fence.place, wrong))

    def _prove_programs(self, press: Press) -> dict[str, Proof]:
        if self.problems:
            return {}  # a program of broken parts tells nothing new
        try:
            write_all(self.root, self.standalone)
        except UnwritableError as error:
            for name, reason in error.reasons.items():
                self._note_use(name, reason)
            return {}
        proofs = press.run(standalone_jobs(self.root, self.standalone))
        for proof in proofs:
            name = plain_name(proof.name.removeprefix("standalone/"))
            for failure in proof.failures:
                self._note_use(name, failure)
        return {proof.name: proof for proof in proofs}

    def snippet(self, name: str) -> Snippet:
        return find_snippet(name, self.snippets)

    def recordings(self, snippet: Snippet) -> list[Recording]:
        """What GPUs print: what this build ran stands for its recording."""
        found = {it.device: it for it in recordings(snippet)}
        if fresh := self._fresh.get(snippet.name):
            found[fresh.device] = fresh
        return list(found.values())

    def recording(self, name: str, device: str) -> Recording:
        """What a snippet prints on a GPU.

        Raises:
            PressError: there is no such snippet, or no recording.
        """
        snippet = self.snippet(name)
        found = {it.device: it for it in self.recordings(snippet)}
        if device not in found:
            raise PressError(
                f"{snippet.relative}: nothing was recorded on {device!r}: "
                + nearest(device, ["interpreter", *found])
            )
        return found[device]

    def values(self, name: str, device: str) -> dict[str, str]:
        """The labelled values that a snippet printed on a device.

        Raises:
            PressError: there is no such snippet, or no output.
        """
        snippet = self.snippet(name)
        if device == "interpreter":
            proof = self.proofs.get(snippet.name)
            if proof and proof.failures and not proof.drifted:
                raise UnprovenError(f"{snippet.relative} failed")
            if proof is None or proof.run is None:
                raise PressError(f"{snippet.relative} has no run")
            exit_code = str(proof.run.exit_code)
            return {"exit code": exit_code} | proof.values
        recording = self.recording(name, device)
        exit_code = recording.facts["exit code"]
        return {"exit code": exit_code} | read_values(recording.output)

    def value(
        self, name: str, label: str, spec: str = "", device="interpreter"
    ) -> str:
        """A value for the prose, as `format` writes it.

        Raises:
            PressError: there is no such snippet, label or number.
        """
        values = self.values(name, device)
        place = f"{self.snippet(name).relative} ({device})"
        text = value_of(values, label, place)
        if not spec:
            return text
        try:
            return format(float(text), spec)
        except ValueError:
            raise PressError(
                f"{place}: {label!r} is {text!r}: no number for {spec!r}"
            ) from None

    @cached_property
    def _homes(self) -> dict[str, list[Module]]:
        """The modules of the library that define a name."""
        found: dict[str, list[Module]] = {}
        for path in sorted((self.root / "src/triton_grad").rglob("*.py")):
            module = Module(path, self.root)
            for name in module.definitions:
                if not name.startswith("__"):
                    found.setdefault(name, []).append(module)
        return found

    def definition(self, names: list[str]) -> Definition:
        """Definitions of the library, of one file.

        Raises:
            PressError: a name has no home, or several.
        """
        texts, modules = [], set()
        for name in names:
            homes = self._homes.get(name, [])
            if not homes:
                raise PressError(
                    f"src/triton_grad defines no {name!r}: "
                    f"{nearest(name, self._homes)}"
                )
            modules |= set(homes)
            texts.append(homes[0].text(homes[0].definitions[name]))
        if not names:
            raise PressError("no name stands in this block; write one a line")
        if len(modules) != 1:
            files = ", ".join(sorted(module.where for module in modules))
            raise PressError(
                f"{', '.join(names)} stand in {files}; one block shows one "
                "file"
            )
        (module,) = modules
        docstring = ast.get_docstring(module.tree) or ""
        fails = FAILS.search(docstring)
        joint = "\n\n\n" if any("\n" in text for text in texts) else "\n"
        source = joint.join(texts)
        return Definition(source, module.where, fails[1] if fails else None)

    def trap(self, name: str) -> Trap:
        """A trap of the museum, of its file.

        Raises:
            PressError: there is no such trap.
        """
        folder = self.root / "src/triton_grad/traps"
        paths = {it.stem: it for it in sorted(folder.glob("[a-z]*.py"))}
        if name not in paths:
            raise PressError(f"no trap {name!r}: {nearest(name, paths)}")
        return read_trap(Module(paths[name], self.root))

    @cached_property
    def _sections(self) -> dict[str, tuple[Section, Proof]]:
        """What runs printed in sections, by the section's name."""
        return {
            section.name: (section, proof)
            for proof in self.proofs.values()
            for section in read_sections(proof.output)
        }

    def section(self, name: str) -> tuple[Section, Proof]:
        """What a run printed of a trap, and that run.

        Raises:
            PressError: no run did.
            UnprovenError: what else is wrong can be the reason.
        """
        if name not in self._sections:
            if self.problems:
                raise UnprovenError(f"no run tells of {name}")
            raise PressError(f"no snippet prints a section == {name} ==")
        return self._sections[name]

    def family(self, snippet: str) -> Section:
        """The figures that a snippet prints of a family, in its last section.

        Raises:
            PressError: there is no such snippet, or it prints no section.
            UnprovenError: it failed.
        """
        found = self.snippet(snippet)
        proof = self.proofs.get(found.name)
        if proof and proof.failures and not proof.drifted:
            raise UnprovenError(f"{found.relative} failed")
        sections = read_sections(proof.output) if proof else []
        if not sections:
            raise PressError(f"{found.relative} prints no section")
        return sections[-1]

    def served_files(self) -> dict[str, Path]:
        """The code files that the site serves, by their address in it."""
        paths = [s.path for s in self.snippets]
        paths += sorted((self.root / "src/triton_grad").rglob("*.py"))
        files = {
            f"code/{path.relative_to(self.root).as_posix()}": path
            for path in paths
        }
        for path in sorted(self.standalone.rglob("*.py")):
            name = path.relative_to(self.standalone).as_posix()
            if f"standalone/{name}" in self.programs:
                files[f"standalone/{name}"] = path
        return files

    def chapter(self, name: str) -> Proof:
        """The proof of a chapter's complete program.

        Raises:
            PressError: there is no such chapter.
            UnprovenError: no program was run, for what else is wrong.
        """
        valid = chapters(self.root)
        if name not in valid:
            raise PressError(f"no chapter {name!r}: {nearest(name, valid)}")
        proof = self.programs.get(f"standalone/{name}.py")
        if proof is None:
            raise UnprovenError(f"no program of {name} was run")
        return proof

    def verdict(self) -> str | None:
        """All that is wrong, as one message; None if nothing is."""
        if not self.problems:
            return None
        places: dict[str, dict[str, None]] = {}
        for problem in self.problems:
            places.setdefault(problem.message, {})[problem.place] = None
        count = len(places)
        head = f"{count} problem{'s' if count > 1 else ''} in the book"
        parts = [f"{', '.join(at)}\n  {what}" for what, at in places.items()]
        return "\n\n".join([head, *parts])
