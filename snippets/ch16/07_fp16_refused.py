"""erf takes no 16-bit numbers: the kernel without an upcast is refused."""

# /// script
# requires-python = ">=3.11"
# dependencies = ["torch", "triton", "numpy"]
# [tool.bookpress]
# fails = "refuses"
# differs = """
# The interpreter wraps what refuses into an `InterpreterError`, the
# compiler into a `CompilationError`. And in bf16 the interpreter does not
# come as far as `erf`: it cannot make the constant 0.5 that `x` is
# multiplied by before, since its `get_bf16` is missing. The compiler can,
# and it is `erf` that refuses.
# """
# ///

import torch

from triton_grad.device import DEVICE
from triton_grad.ops.gelu_erf import triton_gelu_forward
from triton_grad.traps.gelu_forward_kernel_no_upcast import (
    triton_gelu_forward_no_upcast,
)


def root_cause(error: BaseException) -> BaseException:
    return root_cause(error.__cause__) if error.__cause__ else error


x = torch.tensor([-1.0, 0.5, 2.0]).to(DEVICE)
for dtype in (torch.float32, torch.float16, torch.bfloat16):
    try:
        y = triton_gelu_forward_no_upcast(x.to(dtype))
        print(f"{dtype}, no upcast:", [round(v, 4) for v in y.tolist()])
    except Exception as error:
        cause = root_cause(error)
        print(f"{dtype}, no upcast:", type(error).__name__)
        print(f"{dtype}, cause:", type(cause).__name__)
        print(f"{dtype}, it says:", cause)
    y = triton_gelu_forward(x.to(dtype))
    print(f"{dtype}, with upcast:", [round(v, 4) for v in y.tolist()])
