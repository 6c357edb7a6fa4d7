"""Launches from many threads at once.

The interpreter keeps the running program in global variables and patches
triton.language while it runs: without the lock in launch.py two launches at
once read one another's program ids, or fail.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor
from triton.runtime.interpreter import InterpretedFunction

from triton_grad.device import DEVICE
from triton_grad.testing.cases import OPS, OpCase

Draw = Callable[..., Tensor]

THREADS = 6
ROUNDS = 4
# Four programs in each launch: threads can change between two of them.
SIZE = 4000

interpreter_only = pytest.mark.skipif(
    DEVICE != "cpu", reason="a GPU's launch takes no lock"
)


@pytest.fixture(params=OPS, ids=lambda op: op.name)
def op(request: pytest.FixtureRequest) -> OpCase:
    return request.param


@pytest.fixture(autouse=True)
def threads_change_often() -> Iterator[None]:
    """By default Python lets a thread run for longer than a launch takes."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual)


Work = Callable[[int], list[Tensor]]


def at_once(work: Work) -> list[list[Tensor]]:
    """What work(0), work(1), ... give in threads that run side by side."""
    barrier = threading.Barrier(THREADS, timeout=60)

    def rounds(number: int) -> list[Tensor]:
        results: list[Tensor] = []
        try:
            for _ in range(ROUNDS):
                barrier.wait()
                results += work(number)
        except BaseException:
            barrier.abort()
            raise
        return results

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(rounds, range(THREADS)))


def assert_same(work: Work) -> None:
    """In threads work gives what it gives in one thread, bit for bit."""
    alone = [work(number) * ROUNDS for number in range(THREADS)]
    for expected, results in zip(alone, at_once(work), strict=True):
        assert len(results) == len(expected)
        assert all(map(torch.equal, results, expected))


def test_launches_at_once(op: OpCase, draw: Draw) -> None:
    inputs = draw(THREADS, 2, SIZE, seed=1)

    def work(number: int) -> list[Tensor]:
        x, grad_output = inputs[number]
        return [op.forward(x), op.backward(grad_output, x)]

    assert_same(work)


def test_backward_from_many_threads(op: OpCase, draw: Draw) -> None:
    """On a GPU autograd launches from a thread of its own besides."""
    inputs = draw(THREADS, 2, SIZE, seed=2)

    def work(number: int) -> list[Tensor]:
        x, cotangent = inputs[number]
        leaf = x.clone().requires_grad_()
        op.apply(leaf).backward(cotangent)
        assert leaf.grad is not None
        return [leaf.grad]

    assert_same(work)


def test_different_ops_at_once(draw: Draw) -> None:
    """One thread's kernel is not another's, nor is its dtype."""
    dtypes = (torch.float32, torch.bfloat16, torch.float64)
    values = draw(SIZE, seed=3, dtype=torch.float64)

    def work(number: int) -> list[Tensor]:
        op = OPS[number % len(OPS)]
        x = values.to(dtypes[number % len(dtypes)])
        return [op.forward(x)]

    assert_same(work)


@interpreter_only
def test_the_interpreter_runs_one_launch_at_a_time(
    op: OpCase, monkeypatch: pytest.MonkeyPatch, draw: Draw
) -> None:
    """Where the others depend on when threads change, this does not."""
    running, most = 0, 0

    def run(*_: object, **__: object) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        time.sleep(0.002)
        running -= 1

    monkeypatch.setattr(InterpretedFunction, "run", run)
    x = draw(8, seed=4)
    at_once(lambda _: [op.forward(x)])
    assert most == 1


@interpreter_only
def test_a_failing_launch_gives_the_lock_back(
    op: OpCase, monkeypatch: pytest.MonkeyPatch, draw: Draw
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("failed on purpose")

    x = draw(8, seed=5)
    with monkeypatch.context() as patch:
        patch.setattr(InterpretedFunction, "run", fail)
        with pytest.raises(RuntimeError, match="on purpose"):
            op.forward(x)
    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(op.forward, x).result(timeout=60)
    assert torch.equal(result, op.forward(x))
