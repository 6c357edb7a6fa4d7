"""The short way from tensors to a launch, for the tensors of every day.

`kernel[grid](...)` finds out with every call what its arguments are and which
binary they need, and around it an op asks for dtypes, layouts and PyTorch's
modes. All of this takes several times as long as the launch. For plain,
contiguous, aligned tensors of one dtype the answer is always the same: here
it is found out once.
"""

import functools
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter
from triton import knobs

from triton_grad.launch import check_block, check_inputs, warps_of

# Triton compiles apart for addresses, and for an n, that this divides.
SPECIALIZED = 16


class DirectLaunch:
    """Launches what Triton compiled for an elementwise kernel.

    Args:
        op: The op's name, for error messages.
        kernel: A kernel for a GPU, `kernel(*inputs, output, n, BLOCK)`.
    """

    def __init__(self, op: str, kernel: Any) -> None:
        self.op = op
        self.kernel = kernel
        self.binaries: dict[tuple[Any, ...], Any] = {}

    def __call__(
        self, inputs: tuple[Tensor, ...], BLOCK: int
    ) -> Tensor | None:
        """The output, or None: these inputs have to go the long way."""
        first = inputs[0]
        if not (all(map(is_plain, inputs)) and self._is_unobserved()):
            return None
        n, dtype, device = first.numel(), first.dtype, first.get_device()
        for other in inputs[1:]:
            if other.dtype is not dtype or other.shape != first.shape:
                return None
        # Of one element, and of 2**31, Triton makes another binary; a launch
        # goes to the current GPU.
        if not 1 < n < 2**31 or device != torch._C._cuda_getDevice():
            return None
        key = dtype, device, BLOCK, n % SPECIALIZED == 0
        binary = self.binaries.get(key)
        if binary is None:
            return self._first(key, inputs, BLOCK)
        output = torch.empty_like(first)
        stream = torch._C._cuda_getCurrentRawStream(device)
        binary.run(
            -(-n // BLOCK), 1, 1, stream, binary.function,
            binary.packed_metadata, None, None, None,
            *inputs, output, n, BLOCK,
        )  # fmt: skip
        return output

    def _first(
        self, key: tuple[Any, ...], inputs: tuple[Tensor, ...], BLOCK: int
    ) -> Tensor:
        """Launch as Triton does, and remember what it launched."""
        check_inputs(self.op, inputs)
        check_block(self.op, BLOCK)
        output = torch.empty_like(inputs[0])
        n = output.numel()
        self.binaries[key] = self.kernel[(-(-n // BLOCK),)](
            *inputs, output, n, BLOCK=BLOCK, num_warps=warps_of(output, BLOCK)
        )
        return output

    def _is_unobserved(self) -> bool:
        """Whether nobody wants to see the op or the launch."""
        return not (
            torch.compiler.is_compiling()
            or torch._C._are_functorch_transforms_active()
            or torch._C._len_torch_dispatch_stack() > 0
            or torch._C._get_tracing_state() is not None  # torch.jit.trace
            # A profiler's hooks.
            or self.kernel.pre_run_hooks
            or knobs.runtime.launch_enter_hook.calls
            or knobs.runtime.launch_exit_hook.calls
        )


def is_plain(tensor: Tensor) -> bool:
    """Whether the values lie in a GPU's memory as a kernel reads them."""
    return (
        (type(tensor) is Tensor or type(tensor) is Parameter)
        # No wrapper, no sparse or meta tensor, no conjugate or negated view.
        and torch._C._dispatch_keys(tensor).raw_repr() in plain_keys()
        and tensor.is_contiguous()
        and tensor.data_ptr() % SPECIALIZED == 0
    )


@functools.cache
def plain_keys() -> tuple[int, int]:
    """The dispatch keys of a GPU's tensors that are nothing but that."""
    with torch.inference_mode(mode=False):
        ordinary = torch.empty(0, device="cuda")
    with torch.inference_mode():
        inference = torch.empty(0, device="cuda")
    keys = torch._C._dispatch_keys
    return keys(ordinary).raw_repr(), keys(inference).raw_repr()
