"""The drawing of a chain is that chain, with no trace of its process."""

import re

from torch import Tensor

from triton_grad.graph import draw_mermaid
from triton_grad.ops.gelu import gelu
from triton_grad.ops.square import square


def drawn(x: Tensor) -> str:
    z = gelu(x)
    y = square(z)
    return draw_mermaid(y.sum(), {"x": x, "z": z, "y": y})


def test_the_nodes_stand_in_backward_order(x: Tensor) -> None:
    boxes = re.findall(
        r"n(\d+)\W+(\w+?)(?:<br/>(\w), .*)?\W+$", drawn(x), re.M
    )
    assert boxes == [
        ("0", "SumBackward0", ""),
        ("1", "TritonSquareBackward", "y"),
        ("2", "TritonGELUBackward", "z"),
        ("3", "AccumulateGrad", "x"),
    ]


def test_each_node_leads_to_the_next_and_nowhere_else(x: Tensor) -> None:
    arrows = re.findall(r"n(\d+) --> n(\d+)", drawn(x))
    assert arrows == [("0", "1"), ("1", "2"), ("2", "3")]


def test_two_runs_draw_the_same(x: Tensor) -> None:
    assert drawn(x) == drawn(x)
    assert "0x" not in drawn(x)
