"""Ops as a compiler and its stand-in tensors see them."""

import io
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._dynamo.exc import Unsupported
from torch._dynamo.testing import CompileCounterWithBackend
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad
from torch.func import grad, jvp, vmap
from torch.library import opcheck

from triton_grad.device import DEVICE
from triton_grad.modules import GELU
from triton_grad.testing.cases import OpCase
from triton_grad.testing.layouts import LAYOUT_VALUES, LAYOUTS

AssertRight = Callable[[Tensor, Tensor], None]
Draw = Callable[..., Tensor]

BACKENDS = [
    "aot_eager",
    pytest.param(
        "inductor",
        marks=[
            pytest.mark.gpu,
            pytest.mark.skipif(
                DEVICE != "cuda", reason="inductor's kernels need a GPU here"
            ),
        ],
    ),
]


@pytest.fixture(autouse=True)
def forget_what_was_compiled() -> Iterator[None]:
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def chain(op: OpCase) -> Callable[[Tensor], Tensor]:
    return lambda x: 2.0 * op.apply(x) + 1.0


def both_ways(
    function: Callable[[Tensor], Tensor], x: Tensor, grad_output: Tensor
) -> tuple[Tensor, Tensor]:
    leaf = x.detach().requires_grad_()
    y = function(leaf)
    (grad_input,) = torch.autograd.grad(y, leaf, grad_output)
    return y.detach(), grad_input


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("layout", "dtype"),
    [
        ("contiguous", torch.float32),
        ("sliced", torch.bfloat16),
        ("channels last", torch.float64),
        ("expanded", torch.float16),
    ],
)
def test_compiled_equals_eager(
    op: OpCase, layout: str, dtype: torch.dtype, backend: str, draw: Draw
) -> None:
    function = chain(op)
    x = LAYOUTS[layout](draw(LAYOUT_VALUES, seed=1, dtype=dtype))
    grad_output = LAYOUTS[layout](draw(LAYOUT_VALUES, seed=2, dtype=dtype))
    compiled = torch.compile(function, fullgraph=True, backend=backend)
    eager = both_ways(function, x, grad_output)
    ours = both_ways(compiled, x, grad_output)
    assert [t.stride() for t in ours] == [t.stride() for t in eager]
    if backend == "aot_eager":
        assert all(map(torch.equal, ours, eager))
    else:
        # It fuses 2y + 1 and rounds once where eager PyTorch rounds twice.
        torch.testing.assert_close(ours, eager)


@pytest.mark.parametrize("backend", BACKENDS[1:])
def test_the_op_alone_is_compiled_to_the_same_bits(
    op: OpCase, backend: str, draw: Draw
) -> None:
    x, grad_output = draw(300, seed=3), draw(300, seed=4)
    compiled = torch.compile(op.apply, fullgraph=True, backend=backend)
    ours = both_ways(compiled, x, grad_output)
    assert all(map(torch.equal, ours, both_ways(op.apply, x, grad_output)))


@pytest.mark.parametrize("backend", BACKENDS)
def test_another_size_is_not_compiled_again(
    op: OpCase, backend: str, draw: Draw
) -> None:
    counter = CompileCounterWithBackend(backend)
    function = chain(op)
    compiled = torch.compile(
        function, fullgraph=True, dynamic=True, backend=counter
    )
    for rows in (5, 9, 70):
        x, grad_output = draw(rows, 3, seed=5), draw(rows, 3, seed=6)
        ours = both_ways(compiled, x, grad_output)
        eager = both_ways(function, x, grad_output)
        torch.testing.assert_close(ours, eager)
    assert counter.frame_count == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_module(backend: str, draw: Draw) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(6, 5), GELU()).to(DEVICE)
    compiled = torch.compile(model, fullgraph=True, backend=backend)
    x, grad_output = draw(4, 6, seed=7), draw(4, 5, seed=8)
    ours = both_ways(compiled, x, grad_output)
    torch.testing.assert_close(ours, both_ways(model, x, grad_output))


def test_transforms_inside_a_compiled_function(
    op: OpCase, draw: Draw, assert_right: AssertRight
) -> None:
    """PyTorch's custom ops by themselves have no torch.func there."""
    x = draw(4, 3, seed=9)
    ones = torch.ones_like(x)
    truth = {
        vmap(op.apply): op.oracle(x),
        grad(lambda x: op.apply(x).sum()): op.backward_oracle(ones, x),
        vmap(grad(lambda x: op.apply(x).sum())): op.backward_oracle(ones, x),
    }
    for function, expected in truth.items():
        compiled = torch.compile(
            function, fullgraph=True, backend="aot_eager"
        )
        assert_right(compiled(x), expected)


@pytest.mark.skipif(
    DEVICE == "cuda",
    reason="a compiled kernel carries no tangents, nor F.gelu's by inductor",
)
def test_forward_mode_through_a_compiled_function(
    op: OpCase, draw: Draw, assert_right: AssertRight
) -> None:
    """A custom op without a jvp would drop the tangent silently."""
    x, tangent = draw(6, seed=10), draw(6, seed=11)
    compiled = torch.compile(op.apply, fullgraph=True, backend="aot_eager")
    with forward_ad.dual_level():
        dual_input = forward_ad.make_dual(x, tangent)
        if torch.__version__ >= "2.14":  # which refuses it for any op
            with pytest.raises(Unsupported, match="wrap a dual tensor"):
                compiled(dual_input)
            return
        derivative = forward_ad.unpack_dual(compiled(dual_input)).tangent
    assert derivative is not None, "the tangent was dropped"
    assert_right(derivative, op.backward_oracle(tangent, x))


def test_forward_mode_inside_a_compiled_function(
    op: OpCase, draw: Draw, assert_right: AssertRight
) -> None:
    """In one graph it is refused; where graphs may break it is right."""
    x, tangent = draw(6, seed=12), draw(6, seed=13)

    def along(x: Tensor, tangent: Tensor) -> Tensor:
        return jvp(op.apply, (x,), (tangent,))[1]

    broken = torch.compile(along, backend="aot_eager")
    assert_right(broken(x, tangent), op.backward_oracle(tangent, x))
    torch.compiler.reset()
    whole = torch.compile(along, fullgraph=True, backend="aot_eager")
    with pytest.raises(Unsupported):
        whole(x, tangent)


def test_the_autograd_function_itself(op: OpCase, draw: Draw) -> None:
    """Compiled code may call it too, if it need not be one graph."""
    compiled = torch.compile(
        lambda x: 2.0 * op.function.apply(x), backend="aot_eager"
    )
    x, grad_output = draw(6, seed=24), draw(6, seed=25)
    eager = both_ways(lambda x: 2.0 * op.apply(x), x, grad_output)
    ours = both_ways(compiled, x, grad_output)
    assert all(map(torch.equal, ours, eager))


def test_double_backward_through_a_compiled_function_is_refused(
    op: OpCase, draw: Draw
) -> None:
    """By PyTorch, for every op."""
    x = draw(6, seed=14).requires_grad_()
    compiled = torch.compile(op.apply, fullgraph=True, backend="aot_eager")
    (first,) = torch.autograd.grad(compiled(x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="support double backward"):
        first.sum().backward()


def test_what_is_refused_is_refused_while_compiling(op: OpCase) -> None:
    compiled = torch.compile(op.apply, fullgraph=True, backend="aot_eager")
    message = (
        rf"{op.name}\(\) needs a floating-point tensor, got torch\.int64"
    )
    with pytest.raises(Exception, match=message):
        compiled(torch.ones(3, dtype=torch.int64, device=DEVICE))


def test_what_is_refused_is_refused_for_fake_tensors(op: OpCase) -> None:
    """Where no kernel would ever say it."""
    library_op = op.forward.library_op
    with FakeTensorMode():
        with pytest.raises(TypeError, match=r"got torch\.int64"):
            library_op(torch.ones(3, dtype=torch.int64, device=DEVICE))
        with pytest.raises(ValueError, match="power of two, got 3"):
            library_op(torch.ones(3, device=DEVICE), BLOCK=3)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_fake_tensors_tell_the_truth(
    op: OpCase, layout: str, draw: Draw
) -> None:
    """Shape, dtype and strides, beside a gradient of every other layout."""
    dtype = torch.bfloat16
    x = LAYOUTS[layout](draw(LAYOUT_VALUES, seed=15, dtype=dtype))
    real, faked = [op.forward(x)], []
    mode = FakeTensorMode()
    fake_x = mode.from_tensor(x)
    with mode:
        faked += [op.forward(fake_x), op.apply(fake_x)]
    real.append(real[0])
    for make in LAYOUTS.values():
        grad_output = make(draw(LAYOUT_VALUES, seed=16, dtype=dtype))
        real.append(op.backward(grad_output, x))
        fake_grad = mode.from_tensor(grad_output)
        with mode:
            faked.append(op.backward(fake_grad, fake_x))
    for expected, fake in zip(real, faked, strict=True):
        assert fake.shape == expected.shape
        assert fake.dtype == expected.dtype
        assert fake.device == expected.device
        assert fake.stride() == expected.stride()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_meta_tensors(op: OpCase, layout: str, draw: Draw) -> None:
    x = LAYOUTS[layout](draw(LAYOUT_VALUES, seed=17))
    grad_output = LAYOUTS[layout](draw(LAYOUT_VALUES, seed=18))
    on_meta = [
        torch.empty_strided(t.shape, t.stride(), device="meta")
        for t in (x, grad_output)
    ]
    real, meta = (
        both_ways(op.apply, x, grad_output),
        both_ways(op.apply, *on_meta),
    )
    assert [t.device.type for t in meta] == ["meta", "meta"]
    assert [t.stride() for t in meta] == [t.stride() for t in real]
    with pytest.raises(TypeError, match=r"got torch\.int64"):
        op.apply(torch.ones(2, dtype=torch.int64, device="meta"))


@pytest.mark.parametrize(
    ("layout", "dtype", "block", "needed"),
    [
        ("channels last", torch.bfloat16, 1024, True),
        ("sliced", torch.float64, 64, True),
        ("expanded", torch.float16, 64, False),
    ],
)
def test_opcheck(
    op: OpCase,
    layout: str,
    dtype: torch.dtype,
    block: int,
    needed: bool,
    draw: Draw,
) -> None:
    def made(seed: int) -> Tensor:
        values = draw(LAYOUT_VALUES, seed=seed, dtype=dtype)
        return LAYOUTS[layout](values).detach().requires_grad_(needed)

    for elementwise_op, samples in (
        (op.forward, (made(19),)),
        (op.backward, (made(20), made(21))),
    ):
        opcheck(elementwise_op.library_op, samples, {"BLOCK": block})


class Applied(torch.nn.Module):
    """An op as a module: torch.export takes nothing else."""

    def __init__(self, op: OpCase) -> None:
        super().__init__()
        self.op = op

    def forward(self, x: Tensor) -> Tensor:
        return self.op.apply(x)


@pytest.mark.parametrize("strict", [False, True])
def test_export(op: OpCase, strict: bool, draw: Draw) -> None:
    """There, saved, loaded and back, for any number of rows."""
    exported = torch.export.export(
        Applied(op),
        (draw(5, 3, seed=22),),
        dynamic_shapes={"x": {0: torch.export.Dim("rows", min=2)}},
        strict=strict,
    )
    file = io.BytesIO()
    torch.export.save(exported, file)
    file.seek(0)
    loaded = torch.export.load(file)
    x = draw(11, 3, seed=23)
    assert torch.equal(loaded.module()(x), op.apply(x))
    assert called_in(loaded.graph) == [op.forward.library_op._opoverload]


def called_in(graph: torch.fx.Graph) -> list[Any]:
    return [node.target for node in graph.nodes if node.op == "call_function"]
