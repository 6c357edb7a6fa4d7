"""Element 2**31: counted in 32 bits it lies before the tensor."""

# /// script
# requires-python = ">=3.11"
# dependencies = ["torch", "triton", "numpy"]
# [tool.bookpress]
# timeout = 120
# undisturbed = {cuda = true}  # it takes 11 GiB of the GPU's memory
# fails = "crash"
# not-in-chapter-file = "On a GPU it starts itself again, to crash there."
# differs = """
# Tensors of so many elements are squared on the GPU alone: the interpreter
# would have to run two million programs, one by one.
# """
# ///

import subprocess
import sys

import torch
import triton
import triton.language as tl

from triton_grad.device import DEVICE
from triton_grad.launch import launch_programs
from triton_grad.ops.square import square_forward_kernel
from triton_grad.traps.square_forward_kernel_32_bit_offset import (
    square_forward_kernel_32_bit_offset,
)

KERNELS = {
    "32 bits": square_forward_kernel_32_bit_offset,
    "64 bits": square_forward_kernel,
}


@triton.jit
def first_element_kernel(pid_ptr, first_ptr, n, BLOCK: tl.constexpr):
    pid = tl.load(pid_ptr)
    tl.store(first_ptr, pid * BLOCK)
    tl.store(first_ptr + 1, pid.to(tl.int64) * BLOCK)


def square_threes(name: str) -> None:
    x = torch.full((2**31 + 4096,), 3.0, dtype=torch.float16, device=DEVICE)
    y = torch.zeros_like(x)
    launch_programs(KERNELS[name], x, y, BLOCK=1024)
    right = torch.count_nonzero(y == 9).item()
    print(f"{name}, squares that are right: {right} of {len(y)}")


if len(sys.argv) > 1:
    try:
        square_threes(sys.argv[1])
    except Exception as error:
        print(f"{sys.argv[1]}, it says:", str(error).splitlines()[0])
else:
    pid = torch.tensor([2**23], dtype=torch.int32, device=DEVICE)
    first = torch.zeros(2, dtype=torch.int64, device=DEVICE)
    launch_programs(first_element_kernel, pid, first, BLOCK=256)
    for name, element in zip(KERNELS, first.tolist(), strict=True):
        print(f"{name}, program 2**23 of 256 lanes begins at:", element)
    for name in KERNELS if DEVICE == "cuda" else ():
        command = [sys.executable, __file__, name]
        done = subprocess.run(command, capture_output=True, text=True)
        print(done.stdout or done.stderr, end="")
