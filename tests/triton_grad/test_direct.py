"""The short way to a launch: when it is taken; that it changes nothing."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode

from triton_grad import direct
from triton_grad.device import DEVICE
from triton_grad.direct import DirectLaunch
from triton_grad.launch import launch_elementwise
from triton_grad.ops.gelu import gelu, gelu_backward_op, gelu_forward_op

Draw = Callable[..., Tensor]
on_a_gpu = pytest.mark.skipif(
    DEVICE != "cuda", reason="the interpreter has no binary to launch"
)


class Kernel:
    """Stands for a compiled kernel: it writes down how it was launched."""

    def __init__(self) -> None:
        self.pre_run_hooks: list[Any] = []
        self.launches: list[str] = []
        self.arguments: tuple[Any, ...] = ()

    def __getitem__(self, grid: tuple[int]) -> Any:
        def launch(*arguments: Any, **options: Any) -> Any:
            self.launches.append(f"triton {grid[0]}")
            self.arguments = arguments
            return SimpleNamespace(
                run=self.run, function=None, packed_metadata=None
            )

        return launch

    def run(self, *arguments: Any) -> None:
        self.launches.append(f"binary {arguments[0]}")
        self.arguments = arguments[9:]


@pytest.fixture
def kernel() -> Kernel:
    return Kernel()


@pytest.fixture
def launch(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> DirectLaunch:
    """With the CPU in the place of a GPU."""
    keys = torch._C._dispatch_keys(torch.empty(0)).raw_repr()
    monkeypatch.setattr(direct, "plain_keys", lambda: (keys,))
    for name, value in {
        "_cuda_getDevice": -1,  # what a CPU's tensor says
        "_cuda_getCurrentRawStream": 0,
    }.items():
        monkeypatch.setattr(
            torch._C, name, lambda *_, value=value: value, raising=False
        )
    return DirectLaunch("op", kernel)


def test_the_second_launch_is_the_binary_s(
    launch: DirectLaunch, kernel: Kernel
) -> None:
    x = torch.ones(4096)
    first, second = launch((x,), 1024), launch((x,), 1024)
    assert kernel.launches == ["triton 4", "binary 4"]
    assert first is not None
    assert second is not None
    assert second.data_ptr() != first.data_ptr()
    assert kernel.arguments[0] is x
    assert kernel.arguments[1] is second
    assert kernel.arguments[2:] == (4096, 1024)


def test_the_inputs_keep_their_order(
    launch: DirectLaunch, kernel: Kernel
) -> None:
    """grad_output and x: swapped, a backward is wrong and nothing raises."""
    grad_output, x = torch.ones(32), torch.zeros(32)
    for _ in range(2):
        output = launch((grad_output, x), 1024)
        assert kernel.arguments[0] is grad_output
        assert kernel.arguments[1] is x
        assert kernel.arguments[2] is output


def test_what_triton_compiles_apart_is_launched_apart(
    launch: DirectLaunch, kernel: Kernel
) -> None:
    """By dtype, by BLOCK, and by whether 16 divides n."""
    launch((torch.ones(4096),), 1024)
    launch((torch.ones(4096, dtype=torch.float16),), 1024)
    launch((torch.ones(4096),), 512)
    launch((torch.ones(4095),), 1024)
    assert kernel.launches == ["triton 4", "triton 4", "triton 8", "triton 4"]
    launch((torch.ones(33),), 1024)
    launch((torch.ones(32),), 1024)
    assert kernel.launches[4:] == ["binary 1", "binary 1"]


class Subclass(Tensor):
    pass


@pytest.mark.parametrize(
    "inputs",
    [
        (torch.ones(1),),
        (torch.ones(0),),
        (torch.ones(9)[1:],),
        (torch.ones(8, 8).t(),),
        (torch.ones(1).expand(8),),
        (torch.ones(8, device="meta"),),
        (torch.ones(8).to_sparse(),),
        (torch.view_as_complex(torch.ones(8, 2)).conj().imag,),
        (torch.ones(8).as_subclass(Subclass),),
        (torch.ones(8), torch.ones(4)),
        (torch.ones(8), torch.ones(2, 4)),
        (torch.ones(8), torch.ones(8, dtype=torch.float16)),
        (torch.ones(8), torch.ones(9)[1:]),
    ],
    ids=[
        "one element", "none", "misaligned", "transposed", "expanded", "meta",
        "sparse", "negated", "subclass", "other size", "other shape",
        "other dtype", "second misaligned",
    ],
)  # fmt: skip
def test_what_goes_the_long_way(
    launch: DirectLaunch, kernel: Kernel, inputs: tuple[Tensor, ...]
) -> None:
    assert launch(inputs, 1024) is None
    assert kernel.launches == []


def test_another_gpu_goes_the_long_way(
    launch: DirectLaunch, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch._C, "_cuda_getDevice", lambda: 1)
    assert launch((torch.ones(8),), 1024) is None


def test_who_watches_sees_the_op(launch: DirectLaunch) -> None:
    """A mode, a transform, a trace, a hook of Triton's."""
    x = torch.ones(8)
    seen: list[Tensor | None] = []

    def look(it: Tensor) -> Tensor:
        seen.append(launch((x,), 1024))
        return it

    torch.vmap(look)(torch.ones(2))
    torch.jit.trace(look, (torch.ones(2),), check_trace=False)
    with TorchDispatchMode():
        look(x)
    launch.kernel.pre_run_hooks.append(print)
    look(x)
    assert seen == [None] * 4
    launch.kernel.pre_run_hooks.clear()
    assert launch((x,), 1024) is not None


def test_the_first_launch_refuses_what_the_op_refuses(
    launch: DirectLaunch,
) -> None:
    with pytest.raises(TypeError, match=r"got torch\.int64"):
        launch((torch.ones(8, dtype=torch.int64),), 1024)
    with pytest.raises(ValueError, match="BLOCK a power of two, got 1000"):
        launch((torch.ones(8),), 1000)


@on_a_gpu
@pytest.mark.gpu
@pytest.mark.parametrize("n", [1, 2, 15, 16, 1023, 1024, 1025, 4096, 10000])
def test_both_ways_give_the_same(draw: Draw, n: int) -> None:
    x, grad_output = draw(n, seed=1), draw(n, seed=2)
    for op, inputs in (
        (gelu_forward_op, (x,)),
        (gelu_backward_op, (grad_output, x)),
    ):
        long = launch_elementwise(op.name, op.kernel, *inputs, BLOCK=1024)
        for _ in range(2):
            assert torch.equal(op(*inputs), long)


@on_a_gpu
@pytest.mark.gpu
def test_it_is_taken_and_seen_by_a_profiler(draw: Draw) -> None:
    x = draw(4096, seed=1)
    gelu(x)
    assert gelu_forward_op.direct is not None
    assert len(gelu_forward_op.direct.binaries) >= 1
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        gelu(x)
        torch.cuda.synchronize()
    names = [it.name for it in seen.events() or []]
    assert any("accurate_gelu_forward" in name for name in names)


@on_a_gpu
@pytest.mark.gpu
def test_it_goes_to_the_current_stream(draw: Draw) -> None:
    """Also into a graph that is being captured."""
    x = draw(4096, seed=1)
    truth = gelu(x)
    graph, still = torch.cuda.CUDAGraph(), torch.zeros_like(x)
    with torch.cuda.graph(graph):
        y = gelu(still)
    still.copy_(x)
    graph.replay()
    assert torch.equal(y, truth)
