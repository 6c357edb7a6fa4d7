"""Nothing but four dtypes of plain tensors gets into an op."""

import pytest
import torch

from triton_grad.device import DEVICE
from triton_grad.testing.cases import OPS, OpCase

every_op = pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)

TAKEN = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
OTHERS = (
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.bool,
    torch.complex64,
    torch.complex128,
    torch.float8_e4m3fn,
    torch.float8_e5m2,
)


@every_op
@pytest.mark.parametrize("dtype", OTHERS, ids=str)
def test_no_other_dtype(op: OpCase, dtype: torch.dtype) -> None:
    x = torch.ones(4, device=DEVICE).to(dtype)
    with pytest.raises(TypeError) as caught:
        op.apply(x)
    said = str(caught.value)
    assert said.startswith(f"{op.name}() needs a floating-point tensor")
    assert f"got {dtype}" in said
    for taken in TAKEN:
        assert str(taken).removeprefix("torch.") in said


@every_op
@pytest.mark.parametrize("dtype", TAKEN, ids=str)
def test_these_four_dtypes(op: OpCase, dtype: torch.dtype) -> None:
    assert op.apply(torch.ones(2, dtype=dtype, device=DEVICE)).dtype == dtype


@every_op
@pytest.mark.parametrize(
    "layout", [torch.sparse_coo, torch.sparse_csr], ids=str
)
def test_nothing_sparse(op: OpCase, layout: torch.layout) -> None:
    x = torch.eye(3, device=DEVICE).to_sparse(layout=layout)
    with pytest.raises(TypeError, match=f"strided tensor, got {layout}"):
        op.apply(x)


@every_op
def test_nothing_nested(op: OpCase) -> None:
    rows = [torch.ones(2, device=DEVICE), torch.ones(3, device=DEVICE)]
    x = torch.nested.as_nested_tensor(rows, layout=torch.jagged)
    with pytest.raises(TypeError, match=r"strided tensor, got torch\.jagged"):
        op.apply(x)


@every_op
@pytest.mark.parametrize(
    "value", [[1.0], (1.0,), 1, 2.5, "x", None], ids=repr
)
def test_nothing_that_is_no_tensor(op: OpCase, value: object) -> None:
    with pytest.raises(TypeError) as caught:
        op.apply(value)  # pyright: ignore[reportArgumentType]
    said = str(caught.value)
    assert said.startswith(f"{op.name}() needs a tensor, got ")
    assert repr(value) in said
