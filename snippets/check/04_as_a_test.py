"""The same as a test: one line, of which pytest prints the report."""

# /// script
# requires-python = ">=3.11"
# dependencies = ["torch", "triton", "numpy", "rich"]
# [tool.bookpress]
# timeout = 600
# devices = ["interpreter"]
# self-contained = false
# ///

import torch

from triton_grad.examples.log_softmax import log_softmax
from triton_grad.examples.log_softmax_draft import draft_log_softmax
from triton_grad.testing.check import check_op

INPUTS = ("rows cols", -1)
DTYPES = (torch.float16, torch.bfloat16, torch.float32)


def test_log_softmax() -> None:
    check_op(
        log_softmax, torch.log_softmax, INPUTS, dtypes=DTYPES
    ).assert_right()


def test_the_draft() -> None:
    check_op(
        draft_log_softmax, torch.log_softmax, INPUTS, dtypes=DTYPES
    ).assert_right()


for test in (test_log_softmax, test_the_draft):
    try:
        test()
        outcome = "passes"
    except AssertionError as error:
        outcome = f"fails: {str(error).splitlines()[-1]}"
    print(f"{test.__name__}: {outcome}")
