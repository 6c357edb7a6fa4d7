"""The kernels through the real compiler, for an H200, without having one.

The interpreter accepts much that the compiler refuses. This also shows what
stands in the compiled code: 64-bit offsets and constants of full precision.
"""

import subprocess
from collections.abc import Callable

RunPython = Callable[..., subprocess.CompletedProcess[str]]

COMPILE = """
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

def compiled(kernel, dtype):
    pointers = [name for name in kernel.arg_names if name.endswith("_ptr")]
    signature = {name: "*" + dtype for name in pointers}
    signature |= {"n": "i32", "BLOCK": "constexpr"}
    source = ASTSource(kernel, signature, constexprs={"BLOCK": 1024})
    target = GPUTarget("cuda", 90, 32)
    return triton.compile(source, target=target).asm["ttir"]
"""


def test_every_kernel_in_every_dtype(run_python: RunPython) -> None:
    result = run_python(
        COMPILE
        + """
from triton_grad.ops.gelu_erf import gelu_backward_kernel, gelu_forward_kernel
from triton_grad.ops.square import (
    square_backward_kernel, square_forward_kernel,
)
from triton_grad.ops.gelu import (
    accurate_gelu_backward_kernel, accurate_gelu_forward_kernel,
)
for kernel in (gelu_forward_kernel, gelu_backward_kernel,
               accurate_gelu_forward_kernel, accurate_gelu_backward_kernel,
               square_forward_kernel, square_backward_kernel):
    for dtype in ("fp16", "bf16", "fp32", "fp64"):
        code = compiled(kernel, dtype)
        assert "tensor<1024xi64>" in code, "offsets are not 64-bit"
        # A product that is widened afterwards has wrapped already.
        products = [it for it in code.splitlines() if "arith.muli" in it]
        assert products and all(" : i64 " in it for it in products), products
        if kernel is gelu_backward_kernel and dtype == "fp64":
            assert "0.3989422804014327" in code
            assert "0.7071067811865475" in code
        if dtype == "fp64":
            assert "f32" not in code
""",
        interpret="0",
    )
    assert result.returncode == 0, result.stderr


def test_erf_without_an_upcast_is_refused(run_python: RunPython) -> None:
    result = run_python(
        COMPILE
        + """
from triton_grad.traps.gelu_forward_kernel_no_upcast import (
    gelu_forward_kernel_no_upcast,
)
compiled(gelu_forward_kernel_no_upcast, "fp32")
print("fp32 compiles")
compiled(gelu_forward_kernel_no_upcast, "fp16")
""",
        interpret="0",
    )
    assert result.stdout == "fp32 compiles\n"
    assert "CompilationError" in result.stderr
    assert "Expected dtype ['fp32', 'fp64'] but got fp16" in result.stderr
