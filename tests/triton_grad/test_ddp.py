"""Data parallel training: two processes have the gradients of one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

# What each of the processes runs: rank, folder. On the CPU on any machine.
WORKER = """
import sys
from datetime import timedelta
from pathlib import Path

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

from triton_grad.modules import GELU

rank, folder = int(sys.argv[1]), Path(sys.argv[2])
torch.set_num_threads(1)
distributed.init_process_group(
    "gloo",
    init_method=f"file://{folder}/meeting-point",
    rank=rank,
    world_size=2,
    timeout=timedelta(seconds=60),
)
state, x, target = torch.load(folder / "given.pt")
model = nn.Sequential(nn.Linear(6, 16), GELU(), nn.Linear(16, 3)).double()
if rank == 0:  # the other one's weights have to come from here
    model.load_state_dict(state)
parallel = DistributedDataParallel(model)
difference = parallel(x[rank::2]) - target[rank::2]
difference.square().mean().backward()
gradients = [parameter.grad for parameter in model.parameters()]
torch.save(gradients, folder / f"gradients-{rank}.pt")
distributed.destroy_process_group()
"""


@pytest.mark.skipif(
    not torch.distributed.is_available(),
    reason="this PyTorch was built without torch.distributed",
)
def test_two_processes_have_the_gradients_of_one(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.Linear(16, 3))
    model = model.double()
    x = torch.randn(8, 6, dtype=torch.float64)
    target = torch.randn(8, 3, dtype=torch.float64)
    torch.save((model.state_dict(), x, target), tmp_path / "given.pt")

    environment = {
        **os.environ,
        "TRITON_INTERPRET": "1",
        "GLOO_SOCKET_IFNAME": "lo",
    }
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(rank), str(tmp_path)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in (0, 1)
    ]
    try:
        said = [worker.communicate(timeout=120)[0] for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
    assert [worker.returncode for worker in workers] == [0, 0], said

    (model(x) - target).square().mean().backward()
    truth = [parameter.grad for parameter in model.parameters()]
    for rank in (0, 1):
        gradients = torch.load(tmp_path / f"gradients-{rank}.pt")
        torch.testing.assert_close(gradients, truth, rtol=1e-12, atol=1e-14)
