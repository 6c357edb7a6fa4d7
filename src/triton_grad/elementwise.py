"""What makes an elementwise kernel an op of PyTorch.

Called with ordinary tensors, an op launches its kernel and nothing stands
between. To whatever has to see the op itself, PyTorch's dispatcher shows it
as `torch.ops.triton_grad.NAME`: torch.compile and torch.export, torch.vmap,
fake and meta tensors, profiling modes.
"""

import inspect
import re
import warnings
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch._C._functorch import (
    is_batchedtensor,
    is_functorch_wrapped_tensor,
    is_legacy_batchedtensor,
)
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import forward_ad
from torch.autograd.function import _SingleLevelFunction
from torch.library import Library, custom_op, triton_op, wrap_triton
from torch.nn import Parameter

from triton_grad.device import DEVICE
from triton_grad.direct import DirectLaunch
from triton_grad.launch import (
    check_block,
    check_inputs,
    empty_result,
    is_interpreted,
    launch_elementwise,
)
from triton_grad.precision import compute_dtype

# Not yet bound to a class. From PyTorch 2.14 on it is written in C, so that
# it has no __func__.
function_apply = vars(torch.autograd.Function)["apply"]

# Function.apply without what it does around: hand the call to a transform of
# torch.func, and read forward's signature, anew in each call, for its default
# values. That takes as long as two launches, and there are none.
apply_at_this_level = vars(torch._C._FunctionBase)["apply"]


class ElementwiseFunction(torch.autograd.Function):
    """A Function that saves its inputs, all of them tensors.

    Forward, backward and jvp are made of ops that torch.vmap knows, so
    PyTorch can derive how to batch them.
    """

    generate_vmap_rule = True

    @classmethod
    def apply(cls, *inputs: Tensor) -> Any:
        # Neither by super(): torch.compile fails where it meets one here.
        if torch._C._are_functorch_transforms_active():
            return function_apply.__get__(None, cls)(*inputs)
        return apply_at_this_level(cls, *inputs)

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
        """f''(x), in x's dtype."""
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
        name: The op's name, in error messages and in `torch.ops`, there
            behind the name of the package that defines the kernel.
        kernel: A Triton kernel `kernel(*inputs, output, n, BLOCK)`, whose
            pointers are named `..._ptr`.
    """

    def __init__(self, name: str, kernel: Any) -> None:
        self.name = name
        self.kernel = kernel
        # A kernel that was copied into another project is another op. Of two
        # with one name, PyTorch lets the later replace the first, silently.
        package = kernel.fn.__module__.partition(".")[0]
        self.library = Library(re.sub(r"\W", "_", package), "FRAGMENT")
        self.library_op = self._define()
        self.direct = DirectLaunch(name, kernel) if DEVICE == "cuda" else None

    def __call__(self, *inputs: Tensor, BLOCK: int = 1024) -> Tensor:
        """Compute, and record nothing for autograd: launch_elementwise."""
        if self.direct is not None:
            output = self.direct(inputs, BLOCK)
            if output is not None:
                return output
        if must_be_seen(inputs):
            check_inputs(self.name, inputs)
            check_vmap_is_on(self.name, inputs)
            return self.library_op(*inputs, BLOCK=BLOCK)
        return launch_elementwise(
            self.name, self.kernel, *inputs, BLOCK=BLOCK
        )

    def differentiable(
        self, function: type[ElementwiseFunction], *inputs: Tensor
    ) -> Tensor:
        """Compute by the Function that the op is differentiated by."""
        if torch.compiler.is_compiling():
            # Dynamo cannot trace a Function that has a jvp.
            return self.library_op(*inputs)
        if (
            torch._C._are_functorch_transforms_active()
            # torch.jit.trace traces again without gradients, to compare.
            or torch._C._get_tracing_state() is not None
            or is_recorded(inputs)
        ):
            return function.apply(*inputs)
        return self(*inputs)

    def differentiated_by(self, function: FunctionClass) -> FunctionClass:
        """Give the op that PyTorch sees the derivative of a Function."""
        at_this_level = single_level(function)

        def seen_by_autograd(*inputs: Tensor, BLOCK: int = 1024) -> Tensor:
            if is_recorded(inputs):
                # A transform of torch.func has handed down what comes here.
                with enable_single_level_autograd_function():
                    return at_this_level.apply(*inputs)
            with torch._C._AutoDispatchBelowAutograd():
                return self.library_op(*inputs, BLOCK=BLOCK)

        with warnings.catch_warnings():
            # "Overriding": it replaces what register_autograd would fill in,
            # a Function that torch.func refuses and that has no jvp, so that
            # forward mode would give zeros, silently.
            warnings.simplefilter("ignore")
            self.library.impl(
                self.name, seen_by_autograd, "Autograd", allow_override=True
            )
        return function

    def _define(self) -> Any:
        interpreted = is_interpreted(self.kernel)

        def launch(*inputs: Tensor, BLOCK: int = 1024) -> Tensor:
            # PyTorch 2.11 refuses to wrap a kernel of the interpreter.
            kernel = self.kernel if interpreted else wrap_triton(self.kernel)
            return launch_elementwise(self.name, kernel, *inputs, BLOCK=BLOCK)

        # PyTorch reads the op's schema from the signature.
        launch.__signature__ = self._signature()
        # torch.compile can look into a compiled kernel's launch, and only
        # there: for it the interpreter is a function like any other.
        define = custom_op if interpreted else triton_op
        library_op: Any = define(
            f"{self.library.ns}::{self.name}", launch, mutates_args=()
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


def single_level(function: type[ElementwiseFunction]) -> Any:
    """The Function as torch.func runs it once it has dealt with a level.

    From PyTorch 2.14 on every other Function asks torch.func for a level.
    """
    methods = ("forward", "setup_context", "backward", "jvp")
    return type(
        function.__name__,
        (_SingleLevelFunction,),
        {name: staticmethod(getattr(function, name)) for name in methods},
    )


def is_recorded(inputs: tuple[Tensor, ...]) -> bool:
    """Whether a derivative may be asked for, of either mode."""
    return (
        torch.is_grad_enabled() and torch._C._any_requires_grad(*inputs)
    ) or (
        # Outside of forward mode, which is -1, no tensor has a tangent.
        forward_ad._current_level >= 0
        and torch._C._is_fwd_grad_enabled()
        and any(
            forward_ad.unpack_dual(tensor).tangent is not None
            for tensor in inputs
        )
    )


def must_be_seen(inputs: tuple[Tensor, ...]) -> bool:
    """Whether something other than the kernel has to see the op."""
    return (
        torch.compiler.is_compiling()
        or torch._C._are_functorch_transforms_active()
        or torch._C._len_torch_dispatch_stack() > 0
        or torch._C._get_tracing_state() is not None  # torch.jit.trace
        or any(is_stand_in(tensor) for tensor in inputs)
    )


def check_vmap_is_on(op: str, inputs: tuple[Tensor, ...]) -> None:
    """Refuse a tensor that outlived its torch.vmap, as PyTorch's ops do."""
    if torch._C._are_functorch_transforms_active():
        return
    if any(is_batchedtensor(tensor) for tensor in inputs):
        raise RuntimeError(
            f"{op}() got a tensor that escaped from torch.vmap"
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
