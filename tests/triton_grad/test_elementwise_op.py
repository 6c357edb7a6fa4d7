"""What makes a kernel an op, shown on a third op that only lives here."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd import forward_ad
from torch.func import hessian, jvp, vmap
from torch.overrides import TorchFunctionMode
from torch.testing._internal.two_tensor import TwoTensor
from torch.utils._python_dispatch import TorchDispatchMode

import triton_grad
from triton_grad.device import DEVICE
from triton_grad.elementwise import (
    ElementwiseFunction,
    ElementwiseGrad,
    ElementwiseOp,
)
from triton_grad.launch import launch_programs
from triton_grad.precision import upcast
from triton_grad.testing.cases import OPS, OpCase

AssertRight = Callable[[Tensor, Tensor], None]
Draw = Callable[..., Tensor]


@triton.jit
def cube_forward_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = upcast(tl.load(x_ptr + offsets, mask=mask))
    tl.store(y_ptr + offsets, x * x * x, mask=mask)


@triton.jit
def cube_backward_kernel(
    grad_out_ptr, x_ptr, grad_in_ptr, n, BLOCK: tl.constexpr
):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    grad_out = upcast(tl.load(grad_out_ptr + offsets, mask=mask))
    x = upcast(tl.load(x_ptr + offsets, mask=mask))
    tl.store(grad_in_ptr + offsets, grad_out * 3.0 * x * x, mask=mask)


cube_op = ElementwiseOp("test_cube", cube_forward_kernel)
cube_backward_op = ElementwiseOp("test_cube_backward", cube_backward_kernel)


@cube_backward_op.differentiated_by
class CubeGrad(ElementwiseGrad):
    @staticmethod
    def second_derivative(x: Tensor) -> Tensor:
        return 6.0 * x

    @staticmethod
    def forward(grad_output: Tensor, x: Tensor) -> Tensor:
        return cube_backward_op(grad_output, x)


@cube_op.differentiated_by
class Cube(ElementwiseFunction):
    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return cube_op(x)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return CubeGrad.apply(grad_output, x)

    @staticmethod
    def jvp(ctx: Any, x_tangent: Tensor) -> Tensor:
        return Cube.backward(ctx, x_tangent)


def cube(x: Tensor) -> Tensor:
    return cube_op.differentiable(Cube, x)


def test_the_next_op_has_all_derivatives(draw: Draw) -> None:
    x = draw(3, seed=1, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(
        cube, x, check_forward_ad=True, check_batched_grad=True
    )
    assert torch.autograd.gradgradcheck(
        cube, x, check_fwd_over_rev=True, check_batched_grad=True
    )


def test_the_next_op_is_transformed(draw: Draw) -> None:
    x = draw(3, 4, seed=2, dtype=torch.float64)
    moved = jvp(vmap(cube, in_dims=1), (x,), (x.cos(),))
    torch.testing.assert_close(moved[0], x.t() ** 3)
    torch.testing.assert_close(moved[1], (x.cos() * 3 * x**2).t())
    second = hessian(lambda x: cube(x).sum())(x[0])
    torch.testing.assert_close(second, torch.diag(6.0 * x[0]))


def test_the_next_op_is_compiled(draw: Draw) -> None:
    torch.compiler.reset()
    x = draw(3, 4, seed=3).t().requires_grad_()
    compiled = torch.compile(cube, fullgraph=True, backend="aot_eager")
    y, eager = compiled(x), cube(x)
    assert torch.equal(y, eager)
    assert y.stride() == eager.stride()
    (ours,) = torch.autograd.grad(y, x, x.detach().cos())
    (theirs,) = torch.autograd.grad(eager, x, x.detach().cos())
    assert torch.equal(ours, theirs)


def test_the_next_op_names_itself() -> None:
    with pytest.raises(TypeError, match=r"^test_cube\(\) needs a floating"):
        cube(torch.ones(2, dtype=torch.int32, device=DEVICE))


def test_the_schema_is_read_from_the_kernels_pointers() -> None:
    """All but the output's, by their names."""
    schemas = {str(op.library_op._opoverload._schema) for op in all_ops()}
    ends = "*, SymInt BLOCK=1024) -> Tensor"
    here = cube_op.library.ns
    assert schemas == {
        f"triton_grad::gelu(Tensor x, {ends}",
        f"triton_grad::gelu_backward(Tensor grad_out, Tensor x, {ends}",
        f"triton_grad::square(Tensor x, {ends}",
        f"triton_grad::square_backward(Tensor grad_out, Tensor x, {ends}",
        f"{here}::test_cube(Tensor x, {ends}",
        f"{here}::test_cube_backward(Tensor grad_out, Tensor x, {ends}",
    }


def test_a_copy_of_a_kernel_is_another_op(
    run_python: Callable[..., subprocess.CompletedProcess[str]],
    tmp_path: Path,
) -> None:
    """In another project, and wrong there: neither takes the other's place.

    Of two ops of one name PyTorch would silently keep the later alone.
    """
    package = Path(str(triton_grad.__file__)).parent
    for file in package.rglob("*.py"):
        copy = tmp_path / "copied" / file.relative_to(package)
        copy.parent.mkdir(parents=True, exist_ok=True)
        source = file.read_text().replace("from triton_grad", "from copied")
        right, wrong = "y_ptr + offsets, y,", "y_ptr + offsets, 100.0 * y,"
        copy.write_text(source.replace(right, wrong))
    result = run_python(
        f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import torch
from triton_grad.device import DEVICE
from triton_grad.ops.gelu import gelu
from copied.ops.gelu import gelu as copied
x = torch.tensor([1.0], device=DEVICE)
for op in (gelu, copied):
    ways = op(x), torch.vmap(op)(x), torch.ops.triton_grad.gelu(x)
    print(*(round(it.item(), 2) for it in ways))
"""
    )
    assert result.stdout == "0.84 0.84 0.84\n84.13 84.13 0.84\n"


EVERY_OP = pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)


@EVERY_OP
def test_a_wrapper_of_tensors_is_looked_into(
    op: OpCase, draw: Draw, assert_right: AssertRight
) -> None:
    first, second = draw(5, seed=11), draw(5, seed=12)
    x = TwoTensor(first, second).requires_grad_()
    y = op.apply(x)
    y.sum().backward()
    assert isinstance(y, TwoTensor)
    assert isinstance(x.grad, TwoTensor)
    for at, got, grad in (
        (first, y.a, x.grad.a),
        (second, y.b, x.grad.b),
    ):
        assert_right(got.detach(), op.oracle(at))
        truth = op.backward_oracle(torch.ones_like(at), at)
        assert_right(grad, truth)


@EVERY_OP
def test_a_subclass_stays_one(op: OpCase, draw: Draw) -> None:
    class Tagged(Tensor):
        pass

    x = draw(5, seed=13)
    y = op.apply(x.as_subclass(Tagged))
    assert type(y) is Tagged
    assert torch.equal(y.as_subclass(Tensor), op.apply(x))


@EVERY_OP
def test_a_mode_sees_the_function_itself(op: OpCase, draw: Draw) -> None:
    seen: list[object] = []

    class Spy(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(func)
            return func(*args, **(kwargs or {}))

    x = draw(5, seed=14)
    with Spy():
        op.apply(x)
    assert seen[0] is op.apply


def all_ops() -> list[ElementwiseOp]:
    forwards = [op.forward for op in OPS]
    backwards = [op.backward for op in OPS]
    return [*forwards, *backwards, cube_op, cube_backward_op]


class Names(TorchDispatchMode):
    """Keeps the names of all ops that PyTorch dispatches."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_a_mode_sees_the_op_and_not_what_it_is_made_of(
    op: OpCase, draw: Draw
) -> None:
    x = draw(4, seed=4).requires_grad_()
    grad_output = draw(4, seed=5)
    with Names() as names:
        torch.autograd.grad(op.apply(x), x, grad_output)
    ours = [name for name in names.seen if name.startswith("triton_grad.")]
    assert ours == [
        f"triton_grad.{op.name}.default",
        f"triton_grad.{op.name}_backward.default",
    ]
    assert not any("empty" in name for name in names.seen)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_without_such_a_thing_nothing_is_dispatched(
    op: OpCase, monkeypatch: pytest.MonkeyPatch, draw: Draw
) -> None:
    """A plain call goes straight to the launch: it costs no more than it."""

    def must_not_run(*_: object, **__: object) -> Tensor:
        raise AssertionError("went by PyTorch's dispatcher")

    for elementwise_op in (op.forward, op.backward):
        monkeypatch.setattr(elementwise_op, "library_op", must_not_run)
    x = torch.nn.Parameter(draw(4, seed=6))
    torch.autograd.grad(op.apply(x).sum(), x)


def test_the_op_by_its_name_in_pytorch(
    draw: Draw, assert_right: AssertRight
) -> None:
    """torch.ops.triton_grad.NAME has the derivatives, both modes."""
    for op in OPS:
        by_name = getattr(torch.ops.triton_grad, op.name)
        x, other = draw(6, seed=7), draw(6, seed=8)
        leaf = x.clone().requires_grad_()
        (grad_input,) = torch.autograd.grad(by_name(leaf), leaf, other)
        assert_right(grad_input, op.backward_oracle(other, x))
        with forward_ad.dual_level():
            dual = by_name(forward_ad.make_dual(x, other), BLOCK=16)
            value, tangent = forward_ad.unpack_dual(dual)
        assert tangent is not None, "the tangent was dropped"
        assert_right(value, op.oracle(x))
        assert_right(tangent, op.backward_oracle(other, x))


def test_the_launch_is_guarded_by_the_outputs_device(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Seen on machines with one GPU or none: what runs between what."""
    events: list[object] = []
    x, y = torch.ones(3), torch.empty(3)

    @contextmanager
    def device_of(tensor: Tensor) -> Iterator[None]:
        events.append(tensor)
        yield
        events.append("left")

    class Kernel:
        def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
            return lambda *_, BLOCK, num_warps: events.append((grid, BLOCK))

    monkeypatch.setattr(torch.cuda, "device_of", device_of)
    kernel: Any = Kernel()
    launch_programs(kernel, x, y, BLOCK=2)
    entered, launched, left = events
    assert entered is y
    assert (launched, left) == (((2,), 2), "left")


@pytest.mark.gpu
@pytest.mark.skipif(
    torch.cuda.device_count() < 2 or DEVICE != "cuda",
    reason="needs two GPUs",
)
@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_a_tensor_on_a_gpu_that_is_not_the_current_one(
    op: OpCase, draw: Draw, assert_right: AssertRight
) -> None:
    x = draw(3000, seed=9).to("cuda:1").requires_grad_()
    grad_output = draw(3000, seed=10).to("cuda:1")
    with torch.cuda.device(0):
        y = op.apply(x)
        (grad_input,) = torch.autograd.grad(y, x, grad_output)
        assert torch.cuda.current_device() == 0
    assert y.device == grad_input.device == torch.device("cuda:1")
    assert_right(y.detach(), op.oracle(x.detach()))
    assert_right(grad_input, op.backward_oracle(grad_output, x.detach()))
