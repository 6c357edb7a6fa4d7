"""`python -m triton_grad.check`: what it asks check_op, says and returns."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from triton_grad import check
from triton_grad.launch import FLOAT_DTYPES
from triton_grad.testing.checks import CHECKS
from triton_grad.testing.isolation import WorkerError
from triton_grad.testing.report import Report, Result, Verdict

GELU = ("torch:relu", "--oracle", "torch.nn.functional.relu")


class FakeCheck:
    """check_op's stand-in: keeps what it is called with."""

    def __init__(self) -> None:
        self.verdict = Verdict.RIGHT
        self.trouble: BaseException | None = None
        self.arguments: tuple[Any, ...] = ()
        self.options: dict[str, Any] = {}

    def __call__(self, *arguments: Any, **options: Any) -> Report:
        self.arguments, self.options = arguments, options
        options["progress"]("values")
        if self.trouble:
            raise self.trouble
        result = Result("values", self.verdict, "two sizes", seconds=1.5)
        return Report("relu", "F.relu", "cpu", (result,))


@pytest.fixture
def check_op(monkeypatch: pytest.MonkeyPatch) -> FakeCheck:
    fake = FakeCheck()
    monkeypatch.setattr(check, "check_op", fake)
    return fake


@pytest.fixture
def refused(
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., str]:
    """The error of a command line that is refused."""

    def error_of(*words: str) -> str:
        with pytest.raises(SystemExit) as caught:
            check.main(words)
        assert caught.value.code == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert "Traceback" not in printed.err
        return printed.err.rpartition("error: ")[2]

    return error_of


def test_what_is_left_out_is_left_to_its_default(
    check_op: FakeCheck,
) -> None:
    assert check.main(GELU) == 0
    op, oracle, inputs = check_op.arguments
    assert (op.text, oracle.text) == (GELU[0], GELU[2])
    assert inputs == ("...",)
    del check_op.options["progress"]
    assert check_op.options == {
        "kwargs": {},
        "dtypes": FLOAT_DTYPES,
        "checks": None,
        "known": {},
        "timeout": 60.0,
    }


def test_everything_can_be_told(check_op: FakeCheck) -> None:
    words = (
        "--inputs|rows cols|cols|int rows < cols|1e-5|3|True|None|..."
        "|--kwargs|eps=1e-6|mode=tanh|--dtypes|float32|bfloat16"
        "|--checks|values|fan-in|--known|fan-in=a = b|--timeout|2.5"
    )
    assert check.main((*GELU, *words.split("|"))) == 0
    assert check_op.arguments[2] == (
        *("rows cols", "cols", "int rows < cols"),
        *(1e-5, 3, True, None, "..."),
    )
    del check_op.options["progress"]
    assert check_op.options == {
        "kwargs": {"eps": 1e-6, "mode": "tanh"},
        "dtypes": [torch.float32, torch.bfloat16],
        "checks": ["values", "fan-in"],
        "known": {"fan-in": "a = b"},
        "timeout": 2.5,
    }


@pytest.mark.parametrize(
    ("verdict", "code"),
    [
        (Verdict.RIGHT, 0),
        (Verdict.REFUSES, 0),
        (Verdict.KNOWN, 0),
        (Verdict.NOT_TRIED, 0),
        (Verdict.WRONG, 1),
        (Verdict.CRASHES, 1),
    ],
)
def test_the_exit_code_is_the_verdict(
    check_op: FakeCheck, verdict: Verdict, code: int
) -> None:
    check_op.verdict = verdict
    assert check.main(GELU) == code


def test_a_log_gets_the_report_and_apart_a_line_a_check(
    check_op: FakeCheck, capsys: pytest.CaptureFixture[str]
) -> None:
    check_op.verdict = Verdict.WRONG
    check.main(GELU)
    printed = capsys.readouterr()
    progress, time = printed.err.splitlines()
    assert progress == "values"
    assert time.endswith(" s")
    head, *_, last = printed.out.splitlines()
    assert head == "relu against F.relu, on cpu"
    assert last == "1 silently wrong"


def test_json_is_all_that_is_printed(
    check_op: FakeCheck, capsys: pytest.CaptureFixture[str]
) -> None:
    check.main((*GELU, "--json"))
    assert json.loads(capsys.readouterr().out)["passed"] is True


def test_the_list_names_every_check(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as caught:
        check.main(["--list"])
    assert caught.value.code == 0
    lines = capsys.readouterr().out.splitlines()
    for line, it in zip(lines, CHECKS, strict=True):
        assert line.startswith(it.name)
        assert it.sentence in line
        assert ("only if asked for" in line) == it.asked


@pytest.mark.usefixtures("check_op")
def test_what_is_wrong_on_the_command_line_is_named(
    refused: Callable[..., str],
) -> None:
    assert "no module 'no_such'" in refused("no_such:op", *GELU[1:])
    assert "has no 'gleu'" in refused("torch:relu", "--oracle", "F.gleu")
    assert "following arguments are required" in refused("torch:relu")
    assert "'x' is not NAME=VALUE" in refused(*GELU, "--kwargs", "x")
    assert "'x' is not NAME=VALUE" in refused(*GELU, "--known", "x")
    assert "'int8' is none of" in refused(*GELU, "--dtypes", "int8")
    assert "'soon'" in refused(*GELU, "--timeout", "soon")


@pytest.mark.parametrize("kind", [ValueError, WorkerError])
def test_what_check_op_refuses_is_told_as_an_error(
    check_op: FakeCheck, refused: Callable[..., str], kind: type[Exception]
) -> None:
    check_op.trouble = kind("no check 'valeus'")
    assert refused(*GELU).strip() == "no check 'valeus'"


def test_ctrl_c_is_told_in_a_word(
    check_op: FakeCheck, capsys: pytest.CaptureFixture[str]
) -> None:
    check_op.trouble = KeyboardInterrupt()
    assert check.main(GELU) == 130
    assert capsys.readouterr().err.endswith("stopped\n")


OPS = """
import torch

class Halved(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output

def crash(x):
    import os
    os.abort()
"""


def test_it_checks_an_op_of_the_folder_it_is_called_in(
    tmp_path: Path,
) -> None:
    (tmp_path / "my_ops.py").write_text(OPS)

    def run(op: str) -> subprocess.CompletedProcess[str]:
        command = ["-m", "triton_grad.check", f"my_ops:{op}"]
        options = ["--dtypes", "float32", "--checks", "values", "gradient"]
        return subprocess.run(
            [sys.executable, *command, "--oracle", "lambda x: 2*x", *options],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )

    wrong = run("Halved.apply")
    assert wrong.returncode == 1, wrong.stderr
    assert "1 right, 1 silently wrong" in wrong.stdout
    crash = run("crash")
    assert crash.returncode == 1
    assert "aborted (exit code 134)" in crash.stdout
    assert crash.stdout.endswith("2 crashes\n")
