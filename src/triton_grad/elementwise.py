"""What makes an elementwise kernel an op of PyTorch.

Called with ordinary tensors, an op launches its kernel and nothing stands
between. To whatever has to see the op itself, PyTorch's dispatcher shows it
as `torch.ops.triton_grad.NAME`: torch.compile and torch.export, torch.vmap,
fake and meta tensors, profiling modes.
"""

import inspect
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch._C._functorch import (
    is_functorch_wrapped_tensor,
    is_legacy_batchedtensor,
)
from torch.library import custom_op, triton_op, wrap_triton
from torch.nn import Parameter

from triton_grad.launch import (
    check_block,
    check_inputs,
    empty_result,
    is_interpreted,
    launch_elementwise,
)
from triton_grad.precision import compute_dtype


class ElementwiseFunction(torch.autograd.Function):
    """A Function that saves its inputs, all of them tensors.

    Forward, backward and jvp are made of ops that torch.vmap knows, so
    PyTorch can derive how to batch them.
    """

    generate_vmap_rule = True

    @classmethod
    def apply(cls, *inputs: Tensor) -> Any:
        if torch._C._are_functorch_transforms_active():
            return super().apply(*inputs)
        # What is left out reads forward's signature anew in each call, for
        # its default values: as long as two launches, and there are none.
        return super(torch.autograd.Function, cls).apply(*inputs)  # pyright: ignore[reportAttributeAccessIssue]

    @staticmethod
    def setup_context(
        ctx: Any, inputs: tuple[Tensor, ...], output: Tensor
    ) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)


class ElementwiseGrad(ElementwiseFunction):
    """A backward kernel as an op of its own, so that it has a gradient.

    A subclass computes grad_output f'(x) in `forward`, and f''(x) in
    `second_derivative`, of PyTorch ops that autograd can differentiate.
    """

    @staticmethod
    def second_derivative(x: Tensor) -> Tensor:
        raise NotImplementedError

    @classmethod
    def backward(cls, ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        grad_output, x = ctx.saved_tensors
        for_grad_output = for_x = None
        if ctx.needs_input_grad[0]:
            # The op is linear in grad_output: its gradient is the op itself.
            for_grad_output = cls.apply(grad, x)
        if ctx.needs_input_grad[1]:
            for_x = cls._along_x(grad, grad_output, x)
        return for_grad_output, for_x

    @classmethod
    def jvp(
        cls, ctx: Any, grad_output_tangent: Tensor, x_tangent: Tensor
    ) -> Tensor:
        grad_output, x = ctx.saved_tensors
        along_grad_output = cls.apply(grad_output_tangent, x)
        return along_grad_output + cls._along_x(x_tangent, grad_output, x)

    @classmethod
    def _along_x(cls, step: Tensor, grad_output: Tensor, x: Tensor) -> Tensor:
        """step grad_output f''(x), computed as wide as in the kernels."""
        wide = compute_dtype(x.dtype)
        upstream = step.to(wide) * grad_output.to(wide)
        return (upstream * cls.second_derivative(x.to(wide))).to(x.dtype)


FunctionClass = TypeVar("FunctionClass", bound=type[ElementwiseFunction])


class ElementwiseOp:
    """An elementwise kernel as an op.

    Args:
        name: The op's name, in error messages and in `torch.ops.triton_grad`.
        kernel: A Triton kernel `kernel(*inputs, output, n, BLOCK)`, whose
            pointers are named `..._ptr`.
    """

    def __init__(self, name: str, kernel: Any) -> None:
        self.name = name
        self.kernel = kernel
        self.library_op = self._define()

    def __call__(self, *inputs: Tensor, BLOCK: int = 1024) -> Tensor:
        """Compute, and record nothing for autograd: launch_elementwise."""
        if must_be_seen(inputs):
            check_inputs(self.name, inputs)
            return self.library_op(*inputs, BLOCK=BLOCK)
        return launch_elementwise(
            self.name, self.kernel, *inputs, BLOCK=BLOCK
        )

    def differentiable(self, *inputs: Tensor) -> Tensor:
        """Compute, and record the derivative: see differentiated_by."""
        if torch.compiler.is_compiling():
            # Dynamo cannot trace a Function that has a jvp.
            return self.library_op(*inputs)
        return self.function.apply(*inputs)

    def differentiated_by(self, function: FunctionClass) -> FunctionClass:
        """Give the op that PyTorch sees the derivative of a Function."""

        def setup_context(
            ctx: Any,
            inputs: tuple[Tensor, ...],
            keyword_only_inputs: dict[str, int],
            output: Tensor,
        ) -> None:
            function.setup_context(ctx, inputs, output)

        self.library_op.register_autograd(
            function.backward, setup_context=setup_context
        )
        self.function = function
        return function

    def _define(self) -> Any:
        def launch(*inputs: Tensor, BLOCK: int = 1024) -> Tensor:
            kernel = wrap_triton(self.kernel)
            return launch_elementwise(self.name, kernel, *inputs, BLOCK=BLOCK)

        # PyTorch reads the op's schema from the signature.
        launch.__signature__ = self._signature()
        # torch.compile can look into a compiled kernel's launch, and only
        # there: for it the interpreter is a function like any other.
        define = custom_op if is_interpreted(self.kernel) else triton_op
        library_op: Any = define(
            f"triton_grad::{self.name}", launch, mutates_args=()
        )
        library_op.register_fake(self._fake)
        library_op.register_vmap(self._batched)
        return library_op

    def _signature(self) -> inspect.Signature:
        """One tensor for every pointer but the output's; then BLOCK."""
        pointers = [
            name.removesuffix("_ptr")
            for name in self.kernel.arg_names
            if name.endswith("_ptr")
        ]
        tensors = [
            inspect.Parameter(
                name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                annotation=Tensor,
            )
            for name in pointers[:-1]
        ]
        block = inspect.Parameter(
            "BLOCK",
            inspect.Parameter.KEYWORD_ONLY,
            default=1024,
            annotation=int,
        )
        return inspect.Signature([*tensors, block], return_annotation=Tensor)

    def _fake(self, *inputs: Tensor, BLOCK: int = 1024) -> Tensor:
        check_inputs(self.name, inputs)
        check_block(self.name, BLOCK)
        return empty_result(inputs)

    def _batched(
        self,
        info: Any,
        in_dims: tuple[int | None, ...],
        *inputs: Tensor,
        BLOCK: int = 1024,
    ) -> tuple[Tensor, int]:
        batched = [
            tensor.expand(info.batch_size, *tensor.shape)
            if dim is None
            else tensor.movedim(dim, 0)
            for tensor, dim in zip(inputs, in_dims, strict=True)
        ]
        return self(*batched, BLOCK=BLOCK), 0


def must_be_seen(inputs: tuple[Tensor, ...]) -> bool:
    """Whether something other than the kernel has to see the op."""
    return (
        torch.compiler.is_compiling()
        or torch._C._are_functorch_transforms_active()
        or torch._C._len_torch_dispatch_stack() > 0
        or any(is_stand_in(tensor) for tensor in inputs)
    )


def is_stand_in(tensor: Tensor) -> bool:
    """Whether a kernel finds no values in the tensor's own memory."""
    return isinstance(tensor, Tensor) and (
        type(tensor) not in (Tensor, Parameter)
        or tensor.is_meta
        # The vmap of is_grads_batched=True, and what outlived a torch.func.
        or is_legacy_batchedtensor(tensor)
        or is_functorch_wrapped_tensor(tensor)
    )
