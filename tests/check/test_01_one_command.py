"""The command finds both bugs of the first form, and says so by its code."""

import json
import subprocess
import sys

WORDS = ["-m", "triton_grad.check"]
WORDS += ["triton_grad.examples.log_softmax_draft:draft_log_softmax"]
WORDS += ["--oracle", "torch.log_softmax", "--inputs", "rows cols", "-1"]
WORDS += ["--dtypes", "float32", "--json"]


def test_both_bugs_are_found() -> None:
    run = subprocess.run(
        [sys.executable, *WORDS, "--checks", "values", "bounds"],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 1
    found = json.loads(run.stdout)
    causes = {
        it["check"]: it["failure"]["cause"]["name"] for it in found["results"]
    }
    assert causes == {
        "values": "padding lanes in a reduction",
        "bounds": "gradient walked in memory order",
    }
    (values, _) = found["results"]
    assert "(1, 3)" in values["failure"]["call"]
