"""A report reads the same in a terminal, in a log and in a failing test."""

import json
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from triton_grad.testing.causes import CAUSES, Cause
from triton_grad.testing.report import (
    LOG_WIDTH,
    Failure,
    Report,
    Result,
    Verdict,
)

pytest_plugins = ["pytester"]

TOLD_FIRST, TOLD_LATER = CAUSES[1], CAUSES[-2]
NEW = Cause("brand new", "Nobody has seen it yet.", "nowhere")


def failed(
    check: str,
    cause: Cause | None = None,
    verdict: Verdict = Verdict.WRONG,
) -> Result:
    failure = Failure(
        "x: float32 (3,)", f"where {check} looked", "1.25", "2.5", cause
    )
    return Result(check, verdict, "13 of 14 inputs", failure, seconds=1.75)


RIGHT = Result("forward", Verdict.RIGHT, "14 sizes", seconds=6.5)
REST = (
    Result("second order", Verdict.REFUSES, "raises"),
    Result("tail", Verdict.KNOWN, "1 + erf cancels"),
    Result("compile", Verdict.NOT_TRIED, "not asked for"),
)


def report(*results: Result) -> Report:
    return Report("my_gelu", "torch_gelu", "interpreter", results)


def printed(it: Report, **options: Any) -> str:
    page = StringIO()
    it.print(Console(file=page, **options))
    return page.getvalue()


def test_every_row_has_check_verdict_and_note() -> None:
    head, rule, *rows = report(RIGHT, *REST).table().splitlines()
    assert head.split() == ["check", "verdict", "note"]
    assert set(rule) == {"-", " "}
    assert [row.split("  ")[0].strip() for row in rows] == [
        "forward",
        "second order",
        "tail",
        "compile",
    ]
    assert rows[0].split() == ["forward", "right", "14", "sizes"]
    column = head.index("note")
    assert rows[2][column:] == "1 + erf cancels"


def test_no_line_is_too_wide_and_nothing_is_lost() -> None:
    words = [f"word{number}" for number in range(60)]
    result = replace(failed("forward"), note=" ".join(words))
    assert result.failure is not None
    call = "y" * (3 * LOG_WIDTH)
    wide = replace(result, failure=replace(result.failure, call=call))
    text = str(report(wide))
    assert max(map(len, text.splitlines())) <= LOG_WIDTH
    assert [word for word in words if word not in text.split()] == []
    assert text.count("y") >= len(call)


def test_a_log_gets_ascii_without_colour(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    it = report(RIGHT, failed("gradient", TOLD_FIRST), *REST)
    text = str(it)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    assert str(it) == text
    assert text.isascii()
    assert "\x1b" not in text
    assert not any(line.endswith(" ") for line in text.splitlines())


def test_times_are_no_part_of_the_text() -> None:
    slow = report(replace(RIGHT, seconds=1234.5), failed("gradient", NEW))
    fast = report(RIGHT, failed("gradient", NEW))
    assert str(slow) == str(fast)


def test_a_failure_is_told_in_full() -> None:
    text = str(report(RIGHT, failed("gradient", NEW)))
    story = text[text.index("Likely cause") :].splitlines()
    assert story == [
        "Likely cause: brand new",
        "  Nobody has seen it yet.",
        "  The book: nowhere",
        "",
        "  gradient: silently wrong",
        "    input     x: float32 (3,)",
        "    where     where gradient looked",
        "    got       1.25",
        "    expected  2.5",
        "",
        "1 right, 1 silently wrong",
    ]


def test_markup_in_a_text_is_text() -> None:
    result = replace(RIGHT, note="[bold]x[/bold] :smile:")
    assert "[bold]x[/bold] :smile:" in str(report(result))


def test_a_cause_is_told_once_and_the_most_telling_one_first() -> None:
    it = report(
        failed("no idea"),
        failed("later", TOLD_LATER),
        failed("new", NEW),
        failed("first", TOLD_FIRST),
        failed("first again", TOLD_FIRST, Verdict.CRASHES),
    )
    assert it.diagnosis == TOLD_FIRST
    heads = [
        line.removeprefix("Likely cause: ")
        for line in str(it).splitlines()
        if line.startswith("Likely cause")
    ]
    names = [TOLD_FIRST.name, TOLD_LATER.name, NEW.name, "not known"]
    assert heads == names
    stories = str(it)[str(it).index("Likely cause") :]
    places = [
        stories.index(f"  {check}: ")
        for check in ("first", "first again", "later", "new", "no idea")
    ]
    assert places == sorted(places)


def test_what_is_unknown_is_no_diagnosis() -> None:
    assert report(RIGHT, *REST).diagnosis is None
    assert report(failed("gradient")).diagnosis is None
    assert report(failed("gradient"), failed("b", NEW)).diagnosis == NEW


def test_the_cause_of_a_known_exception_is_no_diagnosis() -> None:
    known = failed("tail", TOLD_FIRST, Verdict.KNOWN)
    assert report(known).diagnosis is None
    assert report(known).passed


def test_the_last_line_sums_up() -> None:
    results = (failed("b", NEW), RIGHT, RIGHT, *REST)
    last = str(report(*results)).splitlines()[-1]
    assert last == (
        "2 right, 1 silently wrong, 1 refuses clearly, 1 known exception, "
        "1 not tried"
    )
    assert str(report()).splitlines()[-1] == "no checks"


def test_a_terminal_shows_the_same_words_in_colour() -> None:
    it = report(RIGHT, failed("gradient", NEW), *REST)
    terminal = {"width": LOG_WIDTH, "force_terminal": True}
    plain = printed(it, **terminal, color_system=None, no_color=True)
    assert plain.split() == str(it).split()
    coloured = printed(it, **terminal, color_system="standard")
    assert "\x1b[32mright" in coloured
    assert "\x1b[1;31msilently wrong" in coloured


def test_json_has_every_field_and_what_follows_from_them() -> None:
    it = report(RIGHT, failed("gradient", TOLD_LATER))
    data = json.loads(it.to_json())
    assert list(data) == [
        "op",
        "oracle",
        "device",
        "results",
        "passed",
        "diagnosis",
        "counts",
    ]
    assert data["passed"] is False
    assert data["diagnosis"]["name"] == TOLD_LATER.name
    assert data["counts"] == {"right": 1, "silently wrong": 1}
    row = data["results"][1]
    failure = Failure(**{**row["failure"], "cause": TOLD_LATER})
    verdict = Verdict(row["verdict"])
    read = Result(**{**row, "verdict": verdict, "failure": failure})
    assert read == it.results[1]
    assert json.loads(report(RIGHT).to_json())["diagnosis"] is None


@pytest.mark.parametrize("verdict", [Verdict.WRONG, Verdict.CRASHES])
def test_assert_right_raises_the_whole_report(verdict: Verdict) -> None:
    it = report(RIGHT, failed("gradient", NEW, verdict))
    with pytest.raises(AssertionError) as caught:
        it.assert_right()
    assert str(caught.value) == str(it)


def test_assert_right_is_content_with_all_the_rest() -> None:
    report(RIGHT, *REST).assert_right()


def test_pytest_shows_the_line_of_the_test(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        """
        from triton_grad.testing.report import *

        def test_my_op():
            result = Result("gradient", Verdict.WRONG, "of two")
            Report("my_op", "truth", "cpu", (result,)).assert_right()
        """
    )
    shown = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    shown.stdout.fnmatch_lines(
        [
            "*Report(*).assert_right()",
            "E * AssertionError: my_op against truth, on cpu",
            "E * gradient * silently wrong * of two",
            "test_*.py:5: AssertionError",
        ]
    )
    shown.stdout.no_fnmatch_line("*def assert_right*")
