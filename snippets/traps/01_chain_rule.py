"""Gradients that lack a factor, a term or an input."""

# /// script
# requires-python = ">=3.11"
# dependencies = ["torch", "triton", "numpy", "rich"]
# [tool.bookpress]
# timeout = 600
# devices = ["interpreter"]
# self-contained = false
# ///

from triton_grad.testing.tour import show_family

show_family("Chain rule")
