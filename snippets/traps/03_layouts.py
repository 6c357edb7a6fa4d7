"""Kernels that walk memory where they should walk a tensor."""

# /// script
# requires-python = ">=3.11"
# dependencies = ["torch", "triton", "numpy", "rich"]
# [tool.bookpress]
# timeout = 600
# devices = ["interpreter"]
# self-contained = false
# ///

from triton_grad.testing.tour import show_family

show_family("Layouts")
