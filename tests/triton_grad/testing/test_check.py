"""check_op: what is right passes, and what is wrong is told as what it is."""

import os
import time
from functools import partial
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from triton_grad import gelu, square
from triton_grad.device import DEVICE, INTERPRETED
from triton_grad.oracle import gelu_oracle
from triton_grad.testing import check
from triton_grad.testing.check import check_op
from triton_grad.testing.checks import CHECKS
from triton_grad.testing.museum import (
    layer_norm_reference,
    softmax_reference,
)
from triton_grad.testing.report import Report, Result, Verdict

FORKED = pytest.mark.skipif(
    DEVICE != "cpu", reason="a new process cannot import a test's closure"
)


def verdicts(report: Report) -> dict[str, Verdict]:
    return {result.check: result.verdict for result in report.results}


@pytest.mark.parametrize(
    ("op", "inputs", "known"),
    [
        (F.gelu, ("...",), {"small results"}),
        (F.silu, ("...",), set()),
        (torch.square, ("...",), set()),
        (torch.tanh, ("...",), {"small results"}),
        (softmax_reference, ("rows cols",), set()),
        (layer_norm_reference, ("rows cols", 1e-5), set()),
    ],
)
def test_pytorchs_own_ops_pass(
    op: Any, inputs: tuple[object, ...], known: set[str]
) -> None:
    report = check_op(op, op, inputs)
    report.assert_right()
    found = verdicts(report)
    exceptions = {it for it in found if found[it] is Verdict.KNOWN}
    assert exceptions == known
    assert Verdict.REFUSES not in found.values()


@pytest.mark.parametrize(
    ("op", "oracle"),
    [(gelu, F.gelu), (gelu, gelu_oracle), (square, torch.square)],
)
def test_the_librarys_ops_are_right_in_every_check(
    op: Any, oracle: Any
) -> None:
    report = check_op(op, oracle)
    report.assert_right()
    found = verdicts(report)
    not_tried = {it for it in found if found[it] is Verdict.NOT_TRIED}
    alone = {"autotune", "each input alone", "another GPU"}
    if torch.cuda.device_count() > 1 and not INTERPRETED:
        alone.discard("another GPU")
    assert not_tried == alone
    assert set(found.values()) == {Verdict.RIGHT, Verdict.NOT_TRIED}


def test_what_has_to_be_asked_for() -> None:
    asked = [check.name for check in CHECKS if check.asked]
    report = check_op(square, torch.square, checks=asked)
    report.assert_right()
    assert set(verdicts(report).values()) == {Verdict.RIGHT}


def test_two_runs_say_the_same() -> None:
    checks = ("values", "gradient", "bounds", "small results")
    first, second = (check_op(F.gelu, F.silu, checks=checks) for _ in "12")
    assert str(first) == str(second)
    assert not first.passed


@FORKED
def test_a_failure_is_made_small_and_shown() -> None:
    def wrong_above_40(x: Tensor) -> Tensor:
        y = torch.square(x)
        return y + 1.0 if x.shape[-1] > 40 else y

    report = check_op(wrong_above_40, torch.square, checks=["values"])
    (result,) = report.results
    assert result.verdict is Verdict.WRONG
    failure = result.failure
    assert failure is not None
    assert "float32 (41,)" in failure.call
    assert "all 41 elements" in failure.where


def aborts(x: Tensor) -> Tensor:
    if x.numel() == 0:
        os.abort()
    return torch.square(x)


def hangs(x: Tensor) -> Tensor:
    if x.numel() == 0:
        time.sleep(600.0)
    return torch.square(x)


def leaves(x: Tensor) -> Tensor:
    if x.numel() == 0:
        raise SystemExit(0)
    return torch.square(x)


@FORKED
@pytest.mark.parametrize(
    ("op", "words"),
    [(aborts, "exit code 134"), (hangs, "no answer"), (leaves, "exit")],
)
def test_what_ends_a_process_ends_one_check(op: Any, words: str) -> None:
    checks = ("values", "empty tensors", "gradient")
    report = check_op(op, torch.square, checks=checks, timeout=8.0)
    found = verdicts(report)
    assert found["empty tensors"] is Verdict.CRASHES
    assert found["values"] is found["gradient"] is Verdict.RIGHT
    failure = report.results[1].failure
    assert failure is not None
    assert words in failure.got.lower()


def refuses_float64(x: Tensor) -> Tensor:
    if x.dtype == torch.float64:
        raise TypeError(f"refuses_float64() takes no {x.dtype}")
    return torch.square(x)


def refuses_slices(x: Tensor) -> Tensor:
    if not x.is_contiguous():
        raise ValueError("refuses_slices() needs a contiguous tensor")
    return torch.square(x)


def test_a_clear_refusal_is_no_fault() -> None:
    checks = ("dtypes", "layouts", "values")
    report = check_op(refuses_float64, torch.square, checks=checks)
    report.assert_right()
    assert "takes no torch.float64" in report.results[0].note
    report = check_op(refuses_slices, torch.square, checks=checks)
    report.assert_right()
    assert "refuses_slices() needs a contiguous" in report.results[1].note


def refuses_all(x: Tensor) -> Tensor:
    raise ValueError(f"refuses_all() wants no {x.dtype}")


def test_an_op_that_takes_nothing_does_not_pass() -> None:
    report = check_op(refuses_all, torch.square, checks=["values"])
    assert verdicts(report)["values"] is Verdict.CRASHES


def fails_obscurely(x: Tensor) -> Tensor:
    return torch.square(x.view(-1)).view(x.shape)


def test_an_obscure_exception_is_a_crash() -> None:
    report = check_op(fails_obscurely, torch.square, checks=["layouts"])
    assert verdicts(report)["layouts"] is Verdict.CRASHES


def rows_of(table: Tensor, indices: Tensor, scale: float) -> Tensor:
    return table[indices] * scale


def largest(x: Tensor) -> tuple[Tensor, Tensor]:
    values, places = torch.max(x, -1)
    return values, places


@pytest.mark.parametrize(
    ("op", "inputs"),
    [
        (rows_of, ("words cols", "int n < words", 0.5)),
        (largest, ("rows cols",)),
        (torch.mul, ("...", "...")),
        pytest.param(
            *(torch.matmul, ("rows inner", "inner cols")),
            marks=pytest.mark.skipif(
                DEVICE == "cuda",
                reason="cuBLAS may add up in 16 bits, which check_op tells",
            ),
        ),
        (torch.log, ("n > 0",)),
        (F.cross_entropy, ("rows classes", "int rows < classes")),
    ],
)
def test_ops_of_many_kinds(op: Any, inputs: tuple[object, ...]) -> None:
    check_op(op, op, inputs).assert_right()


def test_keyword_arguments_go_to_both() -> None:
    report = check_op(
        F.leaky_relu,
        F.leaky_relu,
        kwargs={"negative_slope": 0.25},
        checks=["values", "gradient"],
    )
    report.assert_right()
    report = check_op(
        F.leaky_relu,
        partial(F.leaky_relu, negative_slope=0.25),
        checks=["values"],
    )
    assert not report.passed


def test_a_known_exception_is_told_and_fails_nothing() -> None:
    known = {"values": "it is another function"}
    report = check_op(F.gelu, F.silu, checks=["values"], known=known)
    report.assert_right()
    (result,) = report.results
    assert result.verdict is Verdict.KNOWN
    assert result.note == known["values"]


@pytest.mark.parametrize(
    ("oracle", "inputs"),
    [
        (torch.mul, ("...",)),
        (F.cross_entropy, ("rows cols", "rows")),
    ],
)
def test_an_oracle_that_cannot_be_called_is_no_fault_of_the_op(
    oracle: Any, inputs: tuple[object, ...]
) -> None:
    with pytest.raises(ValueError, match="oracle cannot be called with"):
        check_op(torch.square, oracle, inputs)


def test_on_a_gpu_what_has_to_be_watched_runs_on_the_interpreter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As it is called there; here both are the interpreter."""
    called: list[tuple[list[str], bool]] = []

    def run_each(
        names: list[str], *_: Any, interpreted: bool = False, **__: Any
    ) -> dict[str, Result]:
        called.append((names, interpreted))
        verdicts = {"races": Verdict.NOT_TRIED}
        return {
            name: Result(name, verdicts.get(name, Verdict.RIGHT), "1")
            for name in names
        }

    monkeypatch.setattr(check, "DEVICE", "cuda")
    monkeypatch.setattr(check, "run_each", run_each)
    checks = ["values", "bounds", "races"]
    report = check_op(square, torch.square, checks=checks)
    assert called == [(["values"], False), (["bounds", "races"], True)]
    assert [it.note for it in report.results] == [
        "1",
        "1, on the interpreter",
        "1",  # nothing was tried anywhere
    ]


def one_result(x: Tensor) -> Tensor:
    return torch.square(x)


def two_results(x: Tensor) -> tuple[Tensor, Tensor]:
    return torch.square(x), x


def test_another_number_of_results_is_told() -> None:
    report = check_op(one_result, two_results, checks=["values"])
    failure = report.results[0].failure
    assert failure is not None
    assert "the op gives 1 tensors, the oracle 2" in failure.got


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"checks": ["value"]}, "no check 'value'; there are: values"),
        ({"known": {"tail": ""}}, "no check 'tail'"),
        ({"dtypes": [torch.int32]}, "torch.int32 is not one of"),
        ({"inputs": (1.0,)}, "has no floating-point tensor"),
        ({"inputs": ("int n < 3",)}, "has no floating-point tensor"),
    ],
)
def test_wrong_options_are_refused_with_a_way_out(
    options: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=r"check_op|inputs") as refusal:
        check_op(torch.square, torch.square, **options)
    assert words in str(refusal.value)
