"""A kernel that overwrites a saved tensor goes unnoticed, until you tell."""

# /// script
# [tool.bookpress]
# fails = "wrong number"
# ///

from collections.abc import Callable

import torch
from torch.autograd.graph import increment_version

from triton_grad.device import DEVICE
from triton_grad.launch import launch_programs
from triton_grad.ops.square import square, square_forward_kernel
from triton_grad.oracle import square_backward_oracle


def by_pytorch(h: torch.Tensor) -> None:
    h.square_()


def by_kernel(h: torch.Tensor) -> None:
    launch_programs(square_forward_kernel, h, h, BLOCK=8)


def by_kernel_and_told(h: torch.Tensor) -> None:
    by_kernel(h)
    increment_version(h)


def attempt(overwrite: Callable[[torch.Tensor], None]) -> str:
    """Overwrite what square() saved, then run its backward."""
    x = torch.tensor([1.0, 2.0, 3.0], device=DEVICE, requires_grad=True)
    h = 1 * x
    z = square(h)
    overwrite(h.detach())
    print(f"{overwrite.__name__}, version of h:", h._version)
    try:
        return f"{torch.autograd.grad(z.sum(), x)[0].tolist()}"
    except RuntimeError as error:
        return f"RuntimeError: {str(error).split(':')[0]}"


x = torch.tensor([1.0, 2.0, 3.0], device=DEVICE)
print("truth:", square_backward_oracle(torch.ones_like(x), x).tolist())
for overwrite in (by_pytorch, by_kernel, by_kernel_and_told):
    print(f"{overwrite.__name__}, gradient:", attempt(overwrite))
