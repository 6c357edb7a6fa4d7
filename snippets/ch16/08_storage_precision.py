"""One kernel, fp32 arithmetic, three storage types, against fp64."""

# /// script
# requires-python = ">=3.11"
# dependencies = ["torch", "triton", "numpy"]
# [tool.bookpress]
# loose = {"fp32 storage" = 0.5, "ratio" = 0.5}
# differs = """
# In fp32 the rounding shows. The interpreter computes `erf` in fp64 and
# rounds it, and multiplies and adds in two steps; the GPU has an `erf` made
# for fp32, and rounds a product and a sum once, in one instruction. The
# largest of these errors is another number. What storing in 16 bits costs
# is far more, and the same.
# """
# ///

import torch

from triton_grad.device import DEVICE
from triton_grad.ops.gelu_erf import triton_gelu_backward
from triton_grad.oracle import gelu_backward_oracle

torch.manual_seed(2)
n, BLOCK = 2048, 512
x = (3 * torch.randn(n)).to(DEVICE)
grad_output = torch.randn(n).to(DEVICE)
truth = gelu_backward_oracle(grad_output, x)


def error_stored_as(dtype: torch.dtype) -> float:
    grad = triton_gelu_backward(grad_output.to(dtype), x.to(dtype), BLOCK)
    return (grad - truth).abs().max().item()


fp32 = error_stored_as(torch.float32)
fp16 = error_stored_as(torch.float16)
bf16 = error_stored_as(torch.bfloat16)
print("fp32 storage:", fp32)
print("fp16 storage:", fp16)
print("bf16 storage:", bf16)
print("ratio:", fp16 / fp32)
