"""Fan-in is drawn as one node with several arrows into it."""

import re

from torch import Tensor

from triton_grad.graph import draw_mermaid
from triton_grad.ops.gelu import gelu


def test_one_box_two_arrows(x: Tensor) -> None:
    z = gelu(x)
    drawn = draw_mermaid(z.sum() + z.sum(), {"z": z})
    (box,) = re.findall(r"(n\d+)\W+TritonGELUBackward", drawn)
    arrows = re.findall(rf"(n\d+) -->(?:\|.*\|)? {box}$", drawn, re.M)
    assert len(arrows) == len(set(arrows)) == 2
    sums = re.findall(r"(n\d+)\W+SumBackward0", drawn)
    assert sorted(arrows) == sorted(sums)
