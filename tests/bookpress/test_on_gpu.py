"""A project that is proven on a GPU, which is a fake one.

What the press starts for it is real: the snippets print in which environment
they run.
"""

import subprocess
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

from bookpress.book import Book
from bookpress.digest import sources_digest
from bookpress.errors import PressError
from bookpress.fences import Fences
from bookpress.press import Press, device_wanted
from bookpress.snippet import all_snippets

pytestmark = pytest.mark.xdist_group("press")

Write = Callable[[str, str], Path]
Command = Callable[..., subprocess.CompletedProcess[str]]
HaveGpu = Callable[[str | None], None]

SOURCE = """\
'''A.'''

# /// script
# [tool.bookpress]
# differs = "It `says` where it runs."
# varies = ["pid"]
# ///

import os

print("interpreter:", os.environ.get("TRITON_INTERPRET"))
print("GPUs:", os.environ.get("CUDA_VISIBLE_DEVICES", "all") or "none")
print("pid:", os.getpid())
print("number:", 1.00001)
"""
HEAD = """\
# gpu: NVIDIA {gpu}
# driver: 500.1
# torch: 2.11.0
# triton: 3.6.0
# commit: abc1234
# date: 2026-01-01
# exit code: 0
# digest: {digest}
#
"""
ON_GPU = "interpreter: None\nGPUs: all\npid: 1\nnumber: {}\n"
PAGE = """\
# One

```snippet exec="on"
ch01/01_a
```

```snippet exec="on"
ch01/02_gpu
```
"""


@pytest.fixture
def project(
    root: Path,
    make_project: Callable[[Path, dict[str, str]], Path],
    fake_gpu: HaveGpu,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    fake_gpu("NVIDIA H200")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return make_project(
        root,
        {
            "docs/one.md": PAGE,
            "snippets/ch01/01_a.py": SOURCE,
            "snippets/ch01/01_a.interpreter.out": (
                "interpreter: 1\nGPUs: none\npid: 1\nnumber: 1.0\n"
            ),
            "snippets/ch01/02_gpu.py": (
                "'''B.'''\n"
                "# /// script\n# [tool.bookpress]\n# devices = ['cuda']\n"
                "# ///\nprint('b: 1')\n"
            ),
            "snippets/ch01/03_cpu.py": (
                "'''C.'''\n"
                "# /// script\n# [tool.bookpress]\n"
                "# devices = ['interpreter']\n# ///\nprint('c: 1')\n"
            ),
            "snippets/ch01/03_cpu.interpreter.out": "c: 1\n",
        },
    )


@pytest.fixture
def recorded(project: Path, write: Write) -> Callable[..., None]:
    """Record what both snippets print, as a GPU of this name would."""

    def record(gpu: str = "H200", number: float = 1.0) -> None:
        outputs = {"01_a": ON_GPU.format(number), "02_gpu": "b: 1\n"}
        for name, output in outputs.items():
            path = project / f"snippets/ch01/{name}.py"
            digest = sources_digest(path, project)
            head = HEAD.format(gpu=gpu, digest=digest)
            write(f"snippets/ch01/{name}.{gpu.lower()}.out", head + output)

    return record


def build(root: Path) -> Book:
    return Book(root, lambda proof: None, use_cache=True, device="cuda")


def test_both_devices_are_proven_in_one_build(
    project: Path, recorded: Callable[..., None]
) -> None:
    recorded()
    book = build(project)
    assert book.verdict() is None
    assert book.values("ch01/01_a", "interpreter")["interpreter"] == "1"
    assert book.values("ch01/01_a", "interpreter")["GPUs"] == "none"
    values = book.values("ch01/01_a", "h200")
    assert (values["interpreter"], values["GPUs"]) == ("None", "all")
    assert values["number"] == "1.00001"  # of this run, not the recorded one
    (recording,) = book.recordings(book.snippet("ch01/02_gpu"))
    assert recording.fresh
    assert recording.output == "b: 1\n"


def test_without_the_device_the_recording_is_shown(
    project: Path, recorded: Callable[..., None]
) -> None:
    recorded()
    book = Book(project, lambda proof: None, use_cache=True)
    assert book.verdict() is None
    assert book.values("ch01/01_a", "h200")["number"] == "1.0"


def test_the_page_says_on_what_it_ran_now(
    project: Path, recorded: Callable[..., None]
) -> None:
    recorded()
    fences = Fences(build(project), place=str, link=str)
    snippet = fences._book.snippet("ch01/01_a")
    shown = fences._outputs(snippet, "text", html=False)
    origin = (
        "Run from exactly these sources on an NVIDIA H200 · driver 570.1 · "
        f"torch {version('torch')} · triton {version('triton')} · this build"
    )
    assert '=== "Interpreter"' in shown
    assert '=== "H200"' in shown
    assert origin in shown
    assert "abc1234" not in shown
    assert "Why it differs.* It `says` where it runs." in shown
    title = fences.value("ch01/01_a", "number", "", "h200")
    assert "run on an NVIDIA H200" in title


def test_an_output_that_drifted_on_the_gpu_fails_the_build(
    project: Path, recorded: Callable[..., None]
) -> None:
    recorded(number=2.0)
    verdict = build(project).verdict() or ""
    assert verdict.startswith("1 problem in the book\n\ndocs/one.md:3\n")
    assert (
        "snippets/ch01/01_a.py on the GPU: the output is not the one in "
        "snippets/ch01/01_a.h200.out:\n"
    ) in verdict
    assert "    -number: 2.0\n    +number: 1.00001\n" in verdict
    assert "-pid" not in verdict
    assert verdict.endswith(
        "If the new output is right: make record SNIPPETS=ch01/01_a"
    )


def test_another_gpu_is_held_to_the_recording_there_is(
    project: Path, recorded: Callable[..., None], fake_gpu: HaveGpu
) -> None:
    fake_gpu("NVIDIA T4")
    recorded()
    book = build(project)
    assert book.verdict() is None
    found = book.recordings(book.snippet("ch01/01_a"))
    assert [(it.device, it.fresh) for it in found] == [
        ("h200", False),
        ("t4", True),
    ]
    recorded(number=2.0)
    assert "01_a.h200.out:\n" in (build(project).verdict() or "")
    recorded("T4")
    assert build(project).verdict() is None


def test_where_nothing_is_recorded_it_says_how_to(project: Path) -> None:
    verdict = build(project).verdict() or ""
    assert (
        "snippets/ch01/01_a.py on the GPU: no output of a GPU is recorded.\n"
        "    Look at it: make run DEVICE=cuda SNIPPETS=ch01/01_a\n"
        "    If it is right: make record SNIPPETS=ch01/01_a"
    ) in verdict


def test_a_stale_recording_is_called_so_where_it_is_not_met(
    project: Path, recorded: Callable[..., None], write: Write
) -> None:
    recorded()
    write("snippets/ch01/01_a.py", SOURCE + "print('new: 1')\n")
    write("snippets/ch01/01_a.interpreter.out", "new: 1\n")
    verdict = build(project).verdict() or ""
    assert (
        "01_a.h200.out, recorded for an earlier version of the code:\n"
    ) in verdict


def test_run_proves_on_the_device_that_it_is_told(
    project: Path, recorded: Callable[..., None], command: Command
) -> None:
    recorded()
    done = command("bookpress", "run", "--device", "cuda")
    assert done.returncode == 0, done.stderr
    assert "2 snippets, 0 failures" in done.stderr
    one = command("bookpress", "run", "--device", "cuda", "ch01/01_a")
    assert one.stdout.startswith("interpreter: None\n")
    assert "as before" in one.stderr
    recorded(number=2.0)
    assert command("bookpress", "run", "--device", "cuda").returncode == 1
    assert command("bookpress", "run").returncode == 0


def test_a_run_on_one_gpu_is_none_on_another(
    project: Path, recorded: Callable[..., None], fake_gpu: HaveGpu
) -> None:
    recorded()

    def cached() -> bool:
        press = Press(project, "cuda")
        (proof,) = press.prove(
            it for it in all_snippets(project) if it.name == "ch01/01_a"
        ).values()
        return proof.cached

    assert [cached(), cached()] == [False, True]
    fake_gpu("NVIDIA T4")
    assert [cached(), cached()] == [False, True]


def test_without_a_gpu_it_says_so(
    project: Path, fake_gpu: HaveGpu, command: Command
) -> None:
    fake_gpu(None)
    with pytest.raises(PressError, match=r"^torch finds no GPU here \("):
        build(project)
    done = command("bookpress", "run", "--device", "cuda")
    assert done.returncode == 2
    assert done.stderr.startswith("error: torch finds no GPU here (")
    assert done.stderr.count("\n") == 1


def test_an_undisturbed_one_runs_when_the_others_have_ended(
    project: Path, write: Write
) -> None:
    """Those beside one another wait for each other, or time out."""
    for path in project.glob("snippets/ch01/*"):
        path.unlink()
    source = (
        "# /// script\n# [tool.bookpress]\n{}# timeout = 5\n# ///\n"
        "import pathlib, time\n"
        "folder = pathlib.Path({!r})\n"
        "(folder / '{}').touch()\n"
        "{}\n"
        "(folder / '{}').unlink()\n"
        "print('a: 1')\n"
    )
    folder = write("../seen/note", "").parent
    alone = "time.sleep(0.3)\nprint(len(list(folder.iterdir())))"
    wait = "while not (folder / '{}').exists(): time.sleep(0.01)"
    wait += "\ntime.sleep(0.3)"
    parts = {
        "01": ("# undisturbed = true\n", alone),
        "02": ("", wait.format("03")),
        "03": ("", wait.format("02")),
    }
    for name, (key, body) in parts.items():
        text = source.format(key, str(folder), name, body, name)
        write(f"snippets/ch01/{name}_x.py", text)
    proofs = Press(project, "cuda").prove(all_snippets(project))
    assert proofs["ch01/01_x"].output.startswith("2\n")  # its own, and note
    for proof in proofs.values():
        assert proof.run
        assert proof.run.ending == "finished", proof.failures


@pytest.mark.parametrize(
    ("value", "device"), [(None, "interpreter"), ("cuda", "cuda")]
)
def test_the_device_of_a_build(
    monkeypatch: pytest.MonkeyPatch, value: str | None, device: str
) -> None:
    monkeypatch.delenv("BOOKPRESS_DEVICE", raising=False)
    if value:
        monkeypatch.setenv("BOOKPRESS_DEVICE", value)
    assert device_wanted() == device


def test_a_device_that_is_none_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BOOKPRESS_DEVICE", "gpu")
    with pytest.raises(PressError) as caught:
        device_wanted()
    message = "BOOKPRESS_DEVICE='gpu': it takes interpreter or cuda"
    assert str(caught.value) == message
