"""What counts as another output, and what is written when it is accepted."""

import os
import threading
from pathlib import Path

import pytest

from bookpress.expected import drift, label_of, masked, merged, write_whole
from bookpress.snippet import Settings

RECORDED = """\
programs: 10
kernel: [-0.0833, 0.8675, 1.0852]
max abs diff: 2.36e-07
tally: 3 of 8
a line without a value
"""


def changed(old: str, new: str) -> str:
    assert RECORDED.count(old) == 1
    return RECORDED.replace(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0.8675", "0.86751"),
        ("0.8675", "0.86745"),
        ("0.0833", "0.083300001"),
        ("2.36e-07", "2.9e-07"),  # within atol
        ("2.36e-07", "1.5e-07"),
    ],
)
def test_a_number_within_tolerance_neither_drifts_nor_rewrites(
    old: str, new: str
) -> None:
    now = changed(old, new)
    assert drift(RECORDED, now, Settings()) == []
    assert merged(RECORDED, now, Settings()) == RECORDED


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0.8675", "0.8677"),
        ("-0.0833", "0.0833"),
        ("0.8675", "nan"),
        ("0.8675", "inf"),
        ("2.36e-07", "3.5e-07"),
        ("2.36e-07", "0.1"),
        ("programs: 10", "programs: 11"),
        ("programs: 10", "programs: 10.5"),
        ("3 of 8", "4 of 8"),
        ("kernel", "kernal"),
        ("a line", "a  line"),
        ("a line without a value\n", ""),
        ("a line without a value\n", "a line without a value\nanother\n"),
        ("0.8675, ", ""),
    ],
)
def test_anything_else_drifts(old: str, new: str) -> None:
    assert drift(RECORDED, changed(old, new), Settings())


def test_a_count_is_exact_however_large() -> None:
    want, got = "lanes: 1000000\n", "lanes: 1000001\n"
    assert drift(want, got, Settings(rtol=0.5, atol=10))


def test_the_diff_shows_just_the_line_that_drifted() -> None:
    now = changed("0.8675", "0.9").replace("2.36e-07", "2.37e-07")
    assert drift(RECORDED, now, Settings()) == [
        "--- recorded",
        "+++ this run",
        "@@ -1,4 +1,4 @@",
        " programs: 10",
        "-kernel: [-0.0833, 0.8675, 1.0852]",
        "+kernel: [-0.0833, 0.9, 1.0852]",
        " max abs diff: 2.36e-07",
        " tally: 3 of 8",
    ]


def test_only_the_line_that_drifted_is_rewritten() -> None:
    now = changed("0.8675", "0.9").replace("2.36e-07", "2.37e-07")
    assert merged(RECORDED, now, Settings()) == changed("0.8675", "0.9")


def test_the_tolerances_are_the_snippets_own() -> None:
    now = changed("0.8675", "0.8677")
    assert drift(RECORDED, now, Settings(rtol=1e-3)) == []
    assert drift(RECORDED, now, Settings(atol=1e-3)) == []
    now = changed("0.8675", "0.86751")
    assert drift(RECORDED, now, Settings(rtol=1e-6))


def test_a_loose_label_has_a_relative_tolerance_alone() -> None:
    settings = Settings(loose={"max abs diff": 0.5})
    for number in ("1.3e-07", "3.4e-07"):
        now = changed("2.36e-07", number)
        assert drift(RECORDED, now, settings) == []
    for number in ("1.1e-07", "3.6e-07", "0.0"):
        now = changed("2.36e-07", number)
        assert drift(RECORDED, now, settings)
    assert drift(RECORDED, changed("0.8675", "0.9"), settings)


def test_a_label_that_varies_must_still_be_there() -> None:
    settings = Settings(varies=("tally",))
    now = changed("3 of 8", "not a number at all")
    assert drift(RECORDED, now, settings) == []
    assert merged(RECORDED, now, settings) == RECORDED
    assert drift(RECORDED, changed("tally", "sum"), settings)
    assert drift(RECORDED, changed("tally: 3 of 8\n", ""), settings)


def test_what_was_not_there_is_recorded_as_it_came() -> None:
    assert merged("", "a: 1\nb: 2\n", Settings()) == "a: 1\nb: 2\n"


def test_an_output_without_an_end_of_line_is_no_drift_to_itself() -> None:
    recorded = merged("", "a: 1\nb: 2", Settings())
    assert drift(recorded, "a: 1\nb: 2", Settings()) == []


@pytest.mark.parametrize(
    ("line", "label"),
    [
        ("ratio: 6422.1", "ratio"),
        ("  max abs diff :  1e-7", "max abs diff"),
        ("time: 10:30", "time"),
        ("no value", ""),
        ("", ""),
    ],
)
def test_a_label_stands_before_the_first_colon(line: str, label: str) -> None:
    assert label_of(line) == label


def test_addresses_and_the_projects_folder_are_masked() -> None:
    output = (
        "<Node object at 0x7f3a2c1d9e80>\n"
        "File /home/me/book/src/kernels.py, line 3\n"
        "File /home/me/other.py\n"
        "a byte: 0xff, a mask: 0xffff\n"
    )
    assert masked(output, Path("/home/me/book")) == (
        "<Node object at 0x…>\n"
        "File src/kernels.py, line 3\n"
        "File /home/me/other.py\n"
        "a byte: 0xff, a mask: 0xffff\n"
    )


@pytest.mark.parametrize("bits", ["0x3f800000", "0x3ff0000000000000"])
def test_the_bits_of_a_number_are_not_masked(bits: str) -> None:
    assert masked(f"bits: {bits}\n", Path("/book")) == f"bits: {bits}\n"


def test_a_traceback_may_come_from_another_copy_of_the_file() -> None:
    want = (
        "Traceback (most recent call last):\n"
        '  File "snippets/ch16/05_x.py", line 14, in check\n'
        "    raise ValueError(x)\n"
        "ValueError: 3\n"
    )
    got = want.replace("snippets", ".bookpress/standalone")
    assert drift(want, got.replace("14", "190"), Settings()) == []
    assert drift(want, got.replace("check", "other"), Settings())
    assert drift(want, got.replace("(x)", "(y)"), Settings())
    assert drift(want, got.replace("Error: 3", "Error: 4"), Settings())
    assert drift('File "a", line 1\n', 'File "b", line 1\n', Settings())


def test_a_file_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "new" / "file.out"
    write_whole(path, "old: α\n")
    assert path.read_text(encoding="utf-8") == "old: α\n"
    assert path.stat().st_mode & 0o777 == 0o644

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, "new\n")
    assert path.read_text(encoding="utf-8") == "old: α\n"
    assert list(path.parent.iterdir()) == [path]


def test_a_reader_never_sees_half_a_file(tmp_path: Path) -> None:
    path = tmp_path / "file.out"
    texts = {"a" * 500_000, "b" * 500_000}
    write_whole(path, "a" * 500_000)
    done = threading.Event()

    def write() -> None:
        for _ in range(20):
            for text in texts:
                write_whole(path, text)
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not done.is_set():
        assert path.read_text() in texts
    writer.join()
