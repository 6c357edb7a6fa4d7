"""What the twins of chapter 18 share: a timer, tuners, a compiler."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
import triton
from torch import Tensor

from triton_grad.device import DEVICE
from triton_grad.ops.gelu_erf import gelu_forward_kernel


@dataclass
class Timer:
    """Runs each trial some times, and names the next of its prices."""

    prices: Iterator[float]
    runs: int = 1
    trials: list[float] = field(default_factory=list)

    def __call__(
        self, run: Callable[[], None], quantiles: tuple[float, ...]
    ) -> list[float]:
        for _ in range(self.runs):
            run()
        self.trials.append(next(self.prices))
        return [self.trials[-1]] * len(quantiles)


@pytest.fixture
def timer() -> Callable[..., Timer]:
    """Makes one: its prices in the order of the trials."""

    def make(*prices: float, runs: int = 1) -> Timer:
        return Timer(iter(prices or [1.0] * 100), runs)

    return make


@pytest.fixture
def tuner() -> Callable[..., Any]:
    """Makes one of gelu's forward kernel, for some values of BLOCK."""

    def make(blocks: list[int], **options: Any) -> Any:
        configs = [triton.Config({"BLOCK": block}) for block in blocks]
        options = {"key": ["n"], **options}
        return triton.autotune(configs, **options)(gelu_forward_kernel)

    return make


@pytest.fixture
def launch() -> Callable[..., None]:
    """Calls a tuner with a tensor and an output."""

    def call(tuned: Any, x: Tensor, y: Tensor) -> None:
        n = x.numel()
        tuned[lambda meta: (-(-n // meta["BLOCK"]),)](x, y, n)

    return call


@pytest.fixture
def draw() -> Callable[[int], tuple[Tensor, Tensor]]:
    """n elements, and an output that is full of NaN."""

    def make(n: int) -> tuple[Tensor, Tensor]:
        generator = torch.Generator().manual_seed(n)
        x = torch.randn(n, generator=generator).to(DEVICE)
        return x, torch.full_like(x, torch.nan)

    return make


COMPILER = """
import os
os.environ["TRITON_INTERPRET"] = "0"
from triton import compile as compile_kernel
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton_grad.ops.gelu import accurate_gelu_forward_kernel
from triton_grad.ops.gelu_erf import gelu_forward_kernel

def compiled(kernel, dtype, BLOCK, **options):
    types = {it: "*" + dtype if it.endswith("_ptr") else "i32"
             for it in kernel.arg_names}
    types["BLOCK"] = "constexpr"
    # As a launch finds them: aligned, and n divisible.
    aligned = {(i,): [["tt.divisibility", 16]] for i in range(3)}
    source = ASTSource(kernel, types, {"BLOCK": BLOCK}, aligned)
    target = GPUTarget("cuda", 90, 32)
    return compile_kernel(source, target=target, options=options)
"""


@pytest.fixture
def compile_for_gpu(tmp_path: Path) -> Callable[[str], list[str]]:
    """Runs code that has `compiled`, for an H100's kind of GPU, in a process
    where the interpreter is off: the lines that it prints."""

    def run(code: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", COMPILER + code],
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, "TRITON_CACHE_DIR": str(tmp_path)},
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout.splitlines()

    return run
