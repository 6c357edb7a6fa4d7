"""PyTorch's own ops pass; only what is known is excused."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from triton_grad.testing.check import check_op
from triton_grad.testing.report import Verdict


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], weight, bias)


OPS = [
    (F.gelu, ("...",), ["small results"]),
    (F.silu, ("...",), []),
    (torch.square, ("...",), []),
    (torch.tanh, ("...",), ["small results"]),
    (torch.softmax, ("rows cols", -1), []),
    (layer_norm, ("rows cols", "cols", "cols"), []),
]


@pytest.mark.parametrize(
    ("op", "inputs", "known"), OPS, ids=[op.__name__ for op, *_ in OPS]
)
def test_it_passes(
    op: Callable[..., Any], inputs: tuple[Any, ...], known: list[str]
) -> None:
    report = check_op(op, op, inputs)
    report.assert_right()
    excused = [
        it.check for it in report.results if it.verdict is Verdict.KNOWN
    ]
    assert excused == known
