"""The library's rule: 8 elements of a thread, and 32 in 16 bits."""

import pytest
import torch

from triton_grad.launch import warps_of

WIDE = [torch.float32, torch.float64]
NARROW = [torch.float16, torch.bfloat16]


@pytest.mark.parametrize(
    ("dtypes", "most"), [(WIDE, 8), (NARROW, 32)], ids=["wide", "narrow"]
)
def test_a_thread_has_as_many_elements_as_the_rule_says(
    dtypes: list[torch.dtype], most: int
) -> None:
    for dtype in dtypes:
        x = torch.empty(1, dtype=dtype)
        for exponent in range(17):
            warps = warps_of(x, 2**exponent)
            threads = 32 * warps
            if 1 < warps < 16:
                assert 2**exponent == most * threads
            elif warps == 1:
                assert 2**exponent <= most * threads
            else:
                assert 2**exponent >= most * threads


def test_a_gpu_takes_any_of_them() -> None:
    for dtype in [*WIDE, *NARROW]:
        x = torch.empty(1, dtype=dtype)
        warps = {warps_of(x, 2**exponent) for exponent in range(17)}
        assert warps == {1, 2, 4, 8, 16}
