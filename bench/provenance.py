"""What a script in bench/ ran on, and where it writes what it measured."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import torch

from triton_grad.device import DEVICE

FOLDER = Path(__file__).parent


def ask(*command: str) -> str:
    """The first line that a program prints."""
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.strip().splitlines()[0]


def provenance(script: str, commit: str | None) -> dict[str, str]:
    """The device, the versions, the day.

    Args:
        script: The script's name.
        commit: The commit that ran; None for git's HEAD.
    """
    gpu, driver = f"none: the interpreter on {platform.machine()}", "none"
    if DEVICE == "cuda":
        gpu = torch.cuda.get_device_name()
        query = "--query-gpu=driver_version"
        driver = ask("nvidia-smi", query, "--format=csv,noheader")
    if commit is None:
        commit = ask("git", "-C", str(FOLDER), "rev-parse", "--short", "HEAD")
    return {
        "gpu": gpu,
        "driver": driver,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "triton": version("triton"),
        "commit": commit,
        "date": datetime.now(UTC).date().isoformat(),
        "command": f"python bench/{script}",
    }


def report_path(name: str) -> Path:
    """$OUT/NAME.json, or else bench/NAME.GPU.json."""
    if "OUT" in os.environ:
        return Path(os.environ["OUT"], f"{name}.json")
    device = "interpreter"
    if DEVICE == "cuda":
        device = torch.cuda.get_device_name().split()[-1].lower()
    return FOLDER / f"{name}.{device}.json"
