"""The book's fences, as formatters for markdown-exec, and its values.

A formatter gets the body of a fence and markdown-exec's options; what it
shows was proven before. It must not raise: SuperFences would swallow the
exception. Whatever is wrong is noted in the book and fails the build.
"""

import json
import re
from collections.abc import Callable
from html import escape
from typing import Any

from markdown_exec import base_format, code_block, tabbed
from markupsafe import Markup

from bookpress.book import Book, Problem, UnprovenError
from bookpress.definitions import wrong_lines
from bookpress.digest import versions
from bookpress.errors import PressError
from bookpress.measurements import shown
from bookpress.museum import (
    Section,
    Trap,
    prose,
    reports,
    table_of,
    weak_run,
)
from bookpress.press import Proof
from bookpress.recordings import Recording
from bookpress.snippet import Snippet

SIGNALS = {134: "SIGABRT", 139: "SIGSEGV"}


class Fences:
    """Formats the fences of one build.

    Args:
        book: What was proven.
        place: Where on the page that is being rendered a pattern matches.
        link: The address of a served file, from that page.
    """

    def __init__(
        self,
        book: Book,
        place: Callable[[str], str],
        link: Callable[[str], str],
    ) -> None:
        self._book = book
        self._place = place
        self._link = link

    def formatters(self) -> dict[str, Callable[..., Markup]]:
        """What markdown-exec is to call, by the fence's language."""
        return {
            "snippet": self._guarded(self._snippet),
            "kernel": self._guarded(self._kernel),
            "standalone": self._guarded(self._standalone),
            "trap": self._guarded(self._trap),
            "museum": self._guarded(self._museum),
            "plot": self._guarded(self._plot),
        }

    def _guarded(self, formatter: Callable[..., Markup]):
        def guarded(*, code: str, **options: Any) -> Markup:
            try:
                return formatter(code=code.strip(), **options)
            except UnprovenError as error:
                return _message(str(error))
            except PressError as error:
                return self._note(code, str(error))
            except Exception as error:
                return self._note(code, f"{type(error).__name__}: {error}")

        return guarded

    def _note(self, code: str, message: str) -> Markup:
        words = r"\s+".join(map(re.escape, code.split()))
        fence = "(```|~~~)"
        return self.note(rf"{fence}.+\n\s*{words}\s*{fence}", message)

    def note(self, pattern: str, message: str) -> Markup:
        """Note a problem with what matches on this page; show it there."""
        self._book.problems.append(Problem(self._place(pattern), message))
        return _message(message)

    def value(self, snippet: str, label: str, spec: str, device: str) -> str:
        """A value for the prose, with where it comes from."""
        origin, stale = f"{snippet}: {label}", False
        try:
            text = self._book.value(snippet, label, spec, device)
            if device != "interpreter":
                recording = self._book.recording(snippet, device)
                how = "run" if recording.fresh else "recorded"
                origin += f", {how} on an {recording.facts['gpu']}"
                stale = recording.stale
        except UnprovenError as error:
            return _message(str(error))
        except PressError as error:
            names = map(re.escape, (snippet, label))
            quoted = (rf"[^)]*?[\"']{name}[\"']" for name in names)
            return self.note(r"value\(" + "".join(quoted), str(error))
        return _value(text, origin, stale)

    def measured(self, name: str, keys: tuple[str, ...]) -> str:
        """What a script in bench/ has measured and written down as JSON."""
        origin = f"bench/{name}: {', '.join(keys)}"
        try:
            text = (self._book.root / "bench" / name).read_text("utf-8")
            found = json.loads(text)
            for key in keys:
                found = found[key]
        except (OSError, ValueError, LookupError, TypeError) as error:
            quoted = (rf"[^)]*?[\"']{re.escape(it)}[\"']" for it in keys)
            pattern = rf"measured\([\"']{re.escape(name)}" + "".join(quoted)
            kind = type(error).__name__
            return self.note(pattern, f"{origin}: {kind}: {error}")
        return _value(str(found), origin, stale=False)

    def _snippet(
        self, *, code: str, result: str, html: bool, **options: Any
    ) -> Markup:
        snippet = self._book.snippet(code)
        options["extra"].setdefault("title", snippet.relative)
        links = {"This file": f"code/{snippet.relative}"}
        if f"standalone/{snippet.name}.py" in self._book.programs:
            links["self-contained"] = f"standalone/{snippet.name}.py"
        shown = self._outputs(snippet, result, html)
        if options["source"]:
            shown = self._links(links) + shown
        block = base_format(
            language="python",
            run=lambda code, **_: shown,
            code=code,
            html=html,
            transform_source=lambda _: ("", snippet.shown_source),
            **options,
        )
        fails = snippet.settings().fails if options["source"] else None
        return _badge(fails) + block

    def _outputs(self, snippet: Snippet, result: str, html: bool) -> str:
        """What the snippet printed, on every device, as Markdown or HTML."""
        recorded = self._book.recordings(snippet)
        proof = self._book.proofs.get(snippet.name)
        if html or result == "mermaid":
            output = proof.output if proof else ""
            if html:
                return f'<figure class="diagram">{output}</figure>'
            return code_block("mermaid", output)
        tabs = []
        if proof:
            shown = _output(result, proof.output, self._origin(proof))
            tabs.append(("Interpreter", shown))
        for recording in recorded:
            origin = _gpu_origin(recording)
            shown = _output(result, recording.output, origin)
            if proof and (reason := snippet.settings("cuda").differs):
                shown += f"\n\n*Why it differs.* {prose(reason)}"
            tabs.append((recording.device.upper(), shown))
        if not tabs:
            raise PressError(
                f"{snippet.relative}: it runs on a GPU alone and nothing is "
                f"recorded; there: make record SNIPPETS={snippet.name}"
            )
        return tabbed(*tabs) if len(tabs) > 1 else tabs[0][1]

    def _origin(self, proof: Proof) -> str:
        version = versions()
        facts = ["Run from exactly these sources by Triton's interpreter"]
        facts += [f"{name} {version[name]}" for name in ("torch", "triton")]
        code = proof.run.exit_code if proof.run else 0
        return _exit_code(code) + " · ".join(facts)

    def _kernel(self, *, code: str, **options: Any) -> Markup:
        definition = self._book.definition(code.split())
        options["extra"].setdefault("title", definition.where)
        options["extra"] |= _marked(definition.source)
        links = self._links({"This file": f"code/{definition.where}"})
        block = base_format(
            language="python",
            run=lambda code, **_: links,
            code=code,
            transform_source=lambda _: ("", definition.source),
            **{**options, "source": "above"},
        )
        return _badge(definition.fails) + block

    def _standalone(self, *, code: str, **options: Any) -> Markup:
        proof = self._book.chapter(code)
        path = self._book.standalone / f"{code}.py"
        source = path.read_text(encoding="utf-8")
        lines = source.count("\n")
        program = code_block("python", source, title=f"standalone/{code}.py")
        shown = (
            f'??? abstract "{code}.py, {lines} lines"\n\n'
            f"{_indented(program)}\n\n"
            + self._links({"This file": f"standalone/{code}.py"})
            + _output("text", proof.output, self._origin(proof))
        )
        return base_format(
            language="python",
            run=lambda code, **_: shown,
            code=code,
            **{**options, "source": "", "result": ""},
        )

    def _trap(self, *, code: str, **options: Any) -> Markup:
        trap = self._book.trap(code)
        section, proof = self._book.section(code)
        source = code_block(
            "python",
            trap.source,
            title=trap.where,
            **_marked(trap.source),
        )
        parts = [
            prose(trap.fields["Symptom"]),
            str(_badge(trap.fields["Fails"])),
            source,
            self._links({"This file": f"code/{trap.where}"}).strip(),
            f"**Where it looks right.** {weak_run(section)}",
            self._check(section, proof),
            f"**Cause.** {prose(trap.fields['Cause'])}",
            "**The fix**, for the marked lines:",
            code_block("python", trap.fields["Fix"]),
            self._further(trap, section),
        ]
        return base_format(
            language="python",
            run=lambda code, **_: "\n\n".join(parts),
            code=code,
            **{**options, "source": "", "result": ""},
        )

    def _check(self, section: Section, proof: Proof) -> str:
        """What check_op said of a trap, folded."""
        if needs := section.values.get("needs"):
            return f"**Where it shows.** It needs {escape(needs)}."
        named, cause = section.value("check_op says"), section.value("cause")
        title = f"check_op: {named}"
        if named != cause:
            title += f"; it should say: {cause}"
        return (
            '<details class="failure" markdown="1">\n'
            f"<summary>{escape(title)}</summary>\n\n"
            + _output("text", section.report, self._origin(proof))
            + "\n\n</details>"
        )

    def _further(self, trap: Trap, section: Section) -> str:
        """Where a trap was seen, and where the book tells about it."""
        lines = [f"**Caught by.** {prose(trap.fields['Caught by'])}"]
        lines += [f"**Missed by.** {prose(trap.fields['Missed by'])}"]
        lines += [f"**Public report.** {reports(trap.fields['Report'])}"]
        told = section.values.get("told in", "")
        if told.startswith("chapters/"):
            number = told.removeprefix("chapters/").split("-")[0]
            link = escape(self._link(told))
            lines[-1] += f' · <a href="{link}">Chapter {number}</a>'
        return "\n\n".join(lines)

    def _museum(self, *, code: str, **options: Any) -> Markup:
        families = [self._book.family(it) for it in code.split()]
        return base_format(
            language="python",
            run=lambda code, **_: table_of(families),
            code=code,
            **{**options, "source": "", "result": ""},
        )

    def _plot(self, *, code: str, **_: Any) -> Markup:
        return Markup(shown(self._book.root, code))

    def _links(self, targets: dict[str, str]) -> str:
        """Links to served files, as a paragraph of HTML in Markdown."""
        links = " · ".join(
            f'<a href="{escape(self._link(target))}" download>{text}</a>'
            for text, target in targets.items()
        )
        return f'<p class="snippet-links">{links}</p>\n\n'


def _marked(source: str) -> dict[str, str]:
    """The option that highlights the lines that are marked as wrong."""
    numbers = " ".join(map(str, wrong_lines(source)))
    return {"hl_lines": numbers} if numbers else {}


def _indented(markdown: str) -> str:
    return "\n".join(
        f"    {line}" if line else "" for line in markdown.splitlines()
    )


def _message(text: str) -> Markup:
    return Markup(f"<strong>{escape(text)}</strong>")


def _value(text: str, origin: str, stale: bool) -> str:
    """A number is kept on one line and tells where it comes from."""
    mark = ' <span class="stale">(earlier version)</span>' if stale else ""
    try:
        float(text)
    except ValueError:
        return text + mark
    title = escape(origin)
    return f'<span class="unbroken" title="{title}">{text}</span>{mark}'


def _badge(fails: str | None) -> Markup:
    if fails is None:
        return Markup()
    return Markup(
        f'<p class="snippet-badge" data-fails="{fails}">'
        f"Wrong on purpose: {fails}</p>"
    )


def _exit_code(code: int) -> str:
    if code == 0:
        return ""
    name = f" ({SIGNALS[code]})" if code in SIGNALS else ""
    return f"<strong>Exit code {code}{name}</strong> · "


def _gpu_origin(recording: Recording) -> str:
    facts = recording.facts
    if recording.fresh:
        how, last = "Run from exactly these sources", ["this build"]
    else:
        how = "Recorded"
        last = [f"commit {facts['commit']}", facts["date"]]
    told = [f"{how} on an {facts['gpu']}", f"driver {facts['driver']}"]
    told += [f"{name} {facts[name]}" for name in ("torch", "triton")]
    told += last
    stale = ""
    if recording.stale:
        stale = (
            '</p><p class="stale">Recorded for an earlier version of this '
            "code."
        )
    return _exit_code(int(facts["exit code"])) + " · ".join(told) + stale


def _output(language: str, output: str, origin: str) -> str:
    """An output and where it comes from, as Markdown."""
    block = code_block(language or "text", output.rstrip("\n"))
    return (
        f'<div class="output" markdown="1">\n\n{block}\n\n'
        f'<p class="output-meta">{origin}</p>\n\n</div>'
    )
