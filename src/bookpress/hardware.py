"""The GPU of this machine, asked in processes of their own.

The press itself imports no torch, and what it forks must find a CUDA that
nobody has touched.
"""

import subprocess
import sys

from bookpress.errors import PressError

GPU_OR_NONE = """
from torch import cuda
print(cuda.get_device_name() if cuda.is_available() else "none")
"""


def gpu_facts() -> dict[str, str]:
    """The GPU that torch uses, on which the snippets run, and its driver.

    Raises:
        PressError: there is none.
    """
    gpu = ask(sys.executable, "-P", "-c", GPU_OR_NONE)
    if gpu == "none":
        raise PressError(
            f"torch finds no GPU here ({sys.executable}); this needs a "
            "machine with one, and a torch that is built for it"
        )
    driver = ("nvidia-smi", "--format=csv,noheader")
    return {"gpu": gpu, "driver": ask(*driver, "--query-gpu=driver_version")}


def slug(gpu: str) -> str:
    """The GPU's name for a file: "NVIDIA H200" becomes "h200"."""
    return gpu.removeprefix("NVIDIA ").lower().replace(" ", "-")


def ask(*command: str) -> str:
    """The first line that a command prints.

    Raises:
        PressError: it fails, or is not there.
    """
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise PressError(f"{' '.join(command)}: {error}") from None
    return done.stdout.strip().splitlines()[0]
