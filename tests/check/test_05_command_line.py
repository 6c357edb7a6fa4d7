"""Some checks alone, and a list of all."""

import pytest

from triton_grad.check import main
from triton_grad.testing.checks import CHECKS

OP = "triton_grad.examples.log_softmax:log_softmax"
WORDS = [OP, "--oracle", "torch.log_softmax", "--inputs", "rows cols", "-1"]


def test_float64_is_what_it_gets_wrong(
    capsys: pytest.CaptureFixture[str],
) -> None:
    only = ["--checks", "dtypes", "--dtypes"]
    assert main([*WORDS, *only, "float16", "bfloat16"]) == 0
    assert main([*WORDS, *only, "float64"]) == 1
    assert "float64" in capsys.readouterr().out


def test_the_list_has_every_check(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--list"])
    assert ended.value.code == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(CHECKS)
    for line, check in zip(lines, CHECKS, strict=True):
        assert line.startswith(check.name)
        assert check.sentence in line
