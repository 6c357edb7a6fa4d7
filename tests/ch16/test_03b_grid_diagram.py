"""Which program owns which element, as the programs themselves tell it."""

import torch
import triton
import triton.language as tl

from triton_grad.device import DEVICE
from triton_grad.launch import launch_programs


@triton.jit
def count_visits_kernel(ids_ptr, visits_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    before = tl.load(visits_ptr + offsets, mask=mask)
    tl.store(visits_ptr + offsets, before + 1, mask=mask)
    tl.store(ids_ptr + offsets, pid, mask=mask)


def test_nine_full_programs_and_one_of_784_lanes() -> None:
    ids = torch.full((10240,), -1, dtype=torch.int32).to(DEVICE)
    visits = torch.zeros(10240, dtype=torch.int32).to(DEVICE)
    launch_programs(
        count_visits_kernel, ids[:10000], visits[:10000], BLOCK=1024
    )
    assert (visits[:10000] == 1).all()
    assert (visits[10000:] == 0).all()
    lanes = torch.bincount(ids[:10000].cpu()).tolist()
    assert lanes == [1024] * 9 + [784]
    assert (ids == -1).sum() == 240
