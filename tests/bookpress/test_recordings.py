"""What was recorded on GPUs: where it differs, where it no longer holds."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bookpress.digest import sources_digest
from bookpress.recordings import nearest_recording, unexplained
from bookpress.snippet import Snippet

Write = Callable[[str, str], Path]
Command = Callable[..., subprocess.CompletedProcess[str]]

HEAD = """\
# gpu: NVIDIA {gpu}
# driver: 570.1
# torch: 2.11.0
# triton: 3.6.0
# commit: abc1234
# date: 2026-01-01
# exit code: {code}
# digest: {digest}
#
"""
REASON = "differs = 'It rounds.'"


@pytest.fixture
def recorded(root: Path, write: Write) -> Callable[..., Snippet]:
    """A snippet with the outputs of its two devices."""

    def make(
        interpreter: str,
        gpu: str,
        *metadata: str,
        code: int = 0,
        stale: bool = False,
        device: str = "h200",
    ) -> Snippet:
        lines = [f"# {line}\n" for line in ("[tool.bookpress]", *metadata)]
        block = f"# /// script\n{''.join(lines)}# ///\n"
        path = write("snippets/ch01/01_a.py", f"{block}\nprint('a: 1')\n")
        write("snippets/ch01/01_a.interpreter.out", interpreter)
        digest = "old" if stale else sources_digest(path, root)
        name = device.upper()
        head = HEAD.format(gpu=name, code=code, digest=digest)
        write(f"snippets/ch01/01_a.{device}.out", head + gpu)
        return Snippet("ch01/01_a", root)

    return make


@pytest.mark.parametrize(
    ("interpreter", "gpu", "metadata", "code"),
    [
        ("a: 1.0\n", "a: 1.00001\n", [], 0),
        ("a: 1\n", "a: 2\n", ["varies = ['a']"], 0),
        ("a: 1.0\n", "a: 1.4\n", ["loose = {'a' = 0.5}"], 0),
        ("a: 1.0\n", "a: 1.4\n", ["rtol = {cuda = 0.5}"], 0),
        ("a: 1\n", "a: 1\n", ["exit-code = 3"], 3),
        ("a: 1\n", "a: 2\n", [REASON], 0),
        ("a: 1\n", "a: 1\nb: 2\n", [REASON], 0),
        ("a: 1\n", "a: 1\n", ["exit-code = {cuda = 3}", REASON], 3),
    ],
)
def test_the_same_needs_no_reason_and_a_difference_has_one(
    recorded: Callable[..., Snippet],
    interpreter: str,
    gpu: str,
    metadata: list[str],
    code: int,
) -> None:
    snippet = recorded(interpreter, gpu, *metadata, code=code)
    assert unexplained(snippet) == []


@pytest.mark.parametrize(
    ("gpu", "metadata", "code", "shown"),
    [
        ("a: 1.4\n", [], 0, "    --- interpreter\n    +++ h200\n"),
        ("a: 1.4\n", [], 0, "    -a: 1.0\n    +a: 1.4\n"),
        ("a: 1.4\n", ["rtol = {interpreter = 0.5}"], 0, "    +a: 1.4\n"),
        (
            "a: 1.0\n",
            ["exit-code = {cuda = 3}"],
            3,
            "    exit code 3, in the interpreter 0\n",
        ),
    ],
)
def test_a_difference_without_a_reason_is_shown(
    recorded: Callable[..., Snippet],
    gpu: str,
    metadata: list[str],
    code: int,
    shown: str,
) -> None:
    (failure,) = unexplained(recorded("a: 1.0\n", gpu, *metadata, code=code))
    assert failure.startswith("snippets/ch01/01_a.py: a GPU prints something")
    assert shown in failure
    assert failure.endswith('If it may: differs = "why" in its metadata')


def test_a_reason_for_nothing_is_to_be_taken_out(
    recorded: Callable[..., Snippet],
) -> None:
    (failure,) = unexplained(recorded("a: 1.0\n", "a: 1.00001\n", REASON))
    assert "and none does; take it out" in failure


@pytest.mark.parametrize("metadata", [[], [REASON]])
def test_a_stale_recording_and_none_say_nothing(
    recorded: Callable[..., Snippet], metadata: list[str]
) -> None:
    for gpu in ("a: 1\n", "a: 2\n"):
        snippet = recorded("a: 1\n", gpu, *metadata, stale=True)
        assert unexplained(snippet) == []
    snippet.output_path("h200").unlink()
    assert unexplained(snippet) == []


def test_one_gpu_that_differs_is_enough_for_a_reason(
    recorded: Callable[..., Snippet],
) -> None:
    recorded("a: 1\n", "a: 2\n", REASON, device="h100")
    snippet = recorded("a: 1\n", "a: 1\n", REASON)
    assert unexplained(snippet) == []


def test_another_gpus_recording_counts_where_there_is_no_own(
    recorded: Callable[..., Snippet],
) -> None:
    snippet = recorded("a: 1\n", "a: 2\n", device="t4")
    recorded("a: 1\n", "a: 3\n")
    for device, output in (
        ("t4", "a: 2\n"),
        ("h200", "a: 3\n"),
        ("rtx-4090", "a: 3\n"),
    ):
        recording = nearest_recording(snippet, device)
        assert recording
        assert recording.output == output
    for device in ("t4", "h200"):
        snippet.output_path(device).unlink()
    assert nearest_recording(snippet, "h200") is None


def test_the_list_says_what_is_to_be_recorded(
    recorded: Callable[..., Snippet], write: Write, command: Command
) -> None:
    recorded("a: 1\n", "a: 1\n")
    right = command("bookpress", "list", "--stale")
    assert (right.returncode, right.stdout) == (0, "")
    recorded("a: 1\n", "a: 1\n", stale=True)
    write("snippets/ch01/02_b.py", "print('b: 1')\n")
    devices = "# /// script\n# [tool.bookpress]\n# devices = ['{}']\n# ///\n"
    for number, device in enumerate(("interpreter", "cuda"), start=3):
        source = devices.format(device) + "print('c: 1')\n"
        write(f"snippets/ch01/0{number}_c.py", source)
    done = command("bookpress", "list", "--stale")
    assert done.returncode == 1
    assert [line.split(maxsplit=2) for line in done.stdout.splitlines()] == [
        ["ch01/01_a", "h200", "commit abc1234, 2026-01-01"],
        ["ch01/02_b", "interpreter", "nothing recorded"],
        ["ch01/02_b", "cuda", "nothing recorded"],
        ["ch01/03_c", "interpreter", "nothing recorded"],
        ["ch01/04_c", "cuda", "nothing recorded"],
    ]
    done = command("bookpress", "list", "--stale", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)[:2] == [
        {
            "snippet": "ch01/01_a",
            "device": "h200",
            "commit": "abc1234",
            "date": "2026-01-01",
        },
        {
            "snippet": "ch01/02_b",
            "device": "interpreter",
            "commit": None,
            "date": None,
        },
    ]
