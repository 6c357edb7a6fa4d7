"""A callable is found by its name; a wrong name is told with a way out."""

import inspect
import pickle
from pathlib import Path

import pytest
import torch

from triton_grad.testing.spelled import Spelled, SpellingError

MODULE = """
import torch
import triton

def double(values):
    return 2 * values

class Doubled:
    def __call__(self, values):
        return 2 * values

    class Inner:
        double = staticmethod(double)

class Double(torch.autograd.Function):
    forward = staticmethod(lambda context, values: 2 * values)

@triton.jit
def kernel(pointer):
    pass

instance = Doubled()
number = 2
"""


@pytest.fixture(autouse=True)
def readers_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "readers").mkdir()
    (tmp_path / "readers" / "ops.py").write_text(MODULE)
    (tmp_path / "broken.py").write_text("1 / 0")
    (tmp_path / "needy.py").write_text("import not_installed")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "readers.ops:double",
        "readers.ops:instance",
        "readers.ops:Doubled.Inner.double",
        "readers.ops:Double.apply",
        "readers.ops.double",
        "readers.ops.Double.apply",
        "torch.Tensor.double",
        "lambda values: 2 * values",
        "torch.nn.Threshold(-100, 0)",
        "F.relu",
    ],
)
def test_it_is_called_as_what_it_names(text: str) -> None:
    value = torch.tensor(3)
    assert Spelled(text)(value).item() in (6, 3)
    assert Spelled(text).__name__ == text


def test_its_arguments_have_their_names() -> None:
    for text in ("readers.ops:double", "lambda values: values"):
        assert list(inspect.signature(Spelled(text)).parameters) == ["values"]


def test_it_travels_as_text() -> None:
    spelled = Spelled("lambda values: 2 * values")
    assert spelled(1) == 2
    again = pickle.loads(pickle.dumps(spelled))
    assert again == spelled
    assert again(2) == 4


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("no_such_module:op", "no module 'no_such_module'; it is looked"),
        ("readers.opps:double", "no module 'readers.opps'"),
        ("readers.ops.py:double", "write 'readers.ops'"),
        ("readers.ops:doubel", "has no 'doubel'; did you mean double"),
        ("readers.ops.doubel", "has no 'doubel'; did you mean double"),
        ("readers.ops:Double.aply", "'Double' has no 'aply'; did you mean"),
        ("torch.nn.functional.gleu", "did you mean glu or gelu?"),
        ("broken:op", "cannot be imported: ZeroDivisionError: division"),
        ("broken.op", "cannot be imported: ZeroDivisionError: division"),
        ("needy:op", "cannot be imported: ModuleNotFoundError: No module na"),
        ("double", "names no module; write module:double"),
        ("lambda x: (", "nor an expression of torch and F: SyntaxError"),
        ("my/ops.py:op", "nor an expression"),
        ("readers.ops:number", "cannot be called: it is of type int"),
        ("readers.ops:Double", "name its readers.ops:Double.apply"),
        ("readers.ops:Doubled", "is a class, not an op; name an instance"),
        ("readers.ops:kernel", "is a kernel; name the function that launch"),
    ],
)
def test_a_wrong_name_is_told_with_a_way_out(text: str, words: str) -> None:
    with pytest.raises(SpellingError) as caught:
        Spelled(text).found()
    assert words in str(caught.value)
