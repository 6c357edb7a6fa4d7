"""The key of a run changes with all that its output depends on."""

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from bookpress import digest
from bookpress.digest import environment, run_digest, sources_digest
from bookpress.errors import PressError


@pytest.fixture
def project(
    root: Path, make_project: Callable[[Path, dict[str, str]], Path]
) -> Path:
    return make_project(
        root,
        {
            "snippets/a.py": "from kernels.used import f\n",
            "src/kernels/__init__.py": "",
            "src/kernels/used.py": "from kernels.deep import f\n",
            "src/kernels/deep.py": "def f():\n    return 1\n",
            "src/kernels/unused.py": "x = 1\n",
        },
    )


@pytest.fixture
def key(project: Path) -> Callable[..., str]:
    def key(device: str = "interpreter", timeout: float = 60) -> str:
        path = project / "snippets/a.py"
        return run_digest(path, project, device, {}, timeout, alone=False)

    return key


@pytest.mark.parametrize(
    ("file", "changes"),
    [
        ("snippets/a.py", True),
        ("src/kernels/__init__.py", True),
        ("src/kernels/used.py", True),
        ("src/kernels/deep.py", True),
        ("src/kernels/unused.py", False),
        ("docs/page.md", False),
    ],
)
def test_a_file_counts_if_it_is_imported(
    project: Path, key: Callable[..., str], file: str, changes: bool
) -> None:
    before = key()
    with (project / file).open("a") as stream:
        stream.write("# changed\n")
    assert (key() != before) is changes


def test_a_file_that_is_touched_and_not_changed_does_not_count(
    project: Path, key: Callable[..., str]
) -> None:
    before = key()
    (project / "src/kernels/deep.py").touch()
    assert key() == before


def test_what_is_expected_does_not_count_and_line_numbers_do(
    project: Path, key: Callable[..., str]
) -> None:
    path = project / "snippets/a.py"
    code = path.read_text()

    def with_metadata(*lines: str) -> str:
        block = "\n".join(["# /// script", *lines, "# ///", code])
        path.write_text(block)
        return key()

    one = with_metadata("# [tool.bookpress]", "# rtol = 0.1")
    assert with_metadata("# [tool.bookpress]", "# atol = 0.2") == one
    assert with_metadata("# [tool.bookpress]") != one


@pytest.mark.parametrize("lines", [0, 1, 3])
def test_no_metadata_makes_a_recording_stale(
    project: Path, lines: int
) -> None:
    path = project / "snippets/a.py"
    path.write_text("'''A.'''\n\nfrom kernels.used import f\n")
    before = sources_digest(path, project)
    block = "\n".join(["# /// script", *["# # x"] * lines, "# # y", "# ///"])
    code = f"'''A.'''\n\n{block}\n\nfrom kernels.used import f\n"
    path.write_text(code)
    assert sources_digest(path, project) == before
    path.write_text(code + "f()\n")
    assert sources_digest(path, project) != before


def test_what_a_gpu_is_counts(project: Path) -> None:
    def key(gpu: str) -> str:
        path = project / "snippets/a.py"
        return run_digest(path, project, "cuda", {"gpu": gpu}, 60.0, False)

    assert key("NVIDIA H200") != key("NVIDIA H100")
    assert key("NVIDIA H200") == key("NVIDIA H200")


def test_moving_code_from_file_to_file_counts(project: Path) -> None:
    before = sources_digest(project / "snippets/a.py", project)
    deep, used = (project / f"src/kernels/{n}.py" for n in ("deep", "used"))
    used.write_text(used.read_text() + deep.read_text())
    deep.write_text("")
    assert sources_digest(project / "snippets/a.py", project) != before


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("TRITON_DEBUG", True),
        ("TORCH_LOGS", True),
        ("PYTORCH_NO_CUDA_MEMORY_CACHING", True),
        ("CUDA_LAUNCH_BLOCKING", True),
        ("MKL_NUM_THREADS", True),
        ("EDITOR", False),
        ("OMP_NUM_THREADS", False),  # the press sets it
        ("PYTHONPATH", True),
        ("COLUMNS", False),
        ("PYTHONOPTIMIZE", False),  # the press takes it away
        ("TRITON_INTERPRET", False),
    ],
)
def test_an_environment_variable_that_matters_counts(
    key: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    changes: bool,
) -> None:
    monkeypatch.delenv(name, raising=False)
    before = key()
    monkeypatch.setenv(name, "17")
    assert (key() != before) is changes


@pytest.mark.parametrize("package", ["python", "torch", "triton", "numpy"])
def test_each_version_counts(
    key: Callable[..., str], monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    before = key()
    found = {**digest.versions(), package: "0.0"}
    monkeypatch.setattr(digest, "versions", lambda: found)
    assert key() != before


def without(package: str) -> Callable[[str], str]:
    def version(name: str) -> str:
        if name == package:
            raise PackageNotFoundError(name)
        return "1.0"

    return version


def test_numpy_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digest, "version", without("numpy"))
    found = digest.versions.__wrapped__()
    assert list(found) == ["python", "torch", "triton"]


@pytest.mark.parametrize("package", ["torch", "triton"])
def test_a_python_without_torch_or_triton_is_an_error(
    monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setattr(digest, "version", without(package))
    with pytest.raises(PressError) as caught:
        digest.versions.__wrapped__()
    message = str(caught.value)
    assert message.startswith(f"{package} is not installed for /")
    assert ".venv/bin/python" in message


def test_device_and_timeout_count(key: Callable[..., str]) -> None:
    keys = {key(), key(device="cuda"), key(timeout=5)}
    assert len(keys) == 3


@pytest.mark.parametrize("name", ["PYTHONOPTIMIZE", "PYTHONWARNINGS"])
def test_pythons_own_variables_do_not_get_through(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "2")
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    monkeypatch.setenv("PYTHONHASHSEED", "17")
    found = environment("interpreter")
    assert name not in found
    assert found["PYTHONPATH"] == "/somewhere"
    assert found["PYTHONHASHSEED"] == "0"


def test_the_device_decides_on_the_interpreter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "0")
    assert environment("interpreter")["TRITON_INTERPRET"] == "1"
    assert "TRITON_INTERPRET" not in environment("cuda")


def test_the_interpreter_sees_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert environment("interpreter")["CUDA_VISIBLE_DEVICES"] == ""
    assert environment("cuda")["CUDA_VISIBLE_DEVICES"] == "1"
