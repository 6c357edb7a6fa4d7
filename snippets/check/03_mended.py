"""Both kernels mended, and the second derivative refused."""

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
from triton_grad.testing.check import check_op

report = check_op(
    log_softmax,
    torch.log_softmax,
    ("rows cols", -1),
    dtypes=(torch.float16, torch.bfloat16, torch.float32),
)
print(report)
