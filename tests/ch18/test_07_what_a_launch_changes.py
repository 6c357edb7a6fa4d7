"""The compiler's own word on num_stages and num_warps."""

from collections.abc import Callable


def test_num_stages_changes_no_kernel_without_a_loop(
    compile_for_gpu: Callable[[str], list[str]],
) -> None:
    (counts,) = compile_for_gpu("""
def codes(**choices):
    (name, values), = choices.items()
    return len({
        compiled(gelu_forward_kernel, "fp32", 1024, **{name: it}).asm["cubin"]
        for it in values
    })
print(codes(num_stages=(1, 2, 3, 4)), codes(num_warps=(1, 2, 4, 8)))
""")
    assert counts == "1 4"


def test_fewer_warps_are_more_elements_and_registers(
    compile_for_gpu: Callable[[str], list[str]],
) -> None:
    lines = compile_for_gpu("""
import re, subprocess, tempfile
from triton import knobs
for warps in (1, 4, 16):
    ptx = compiled(gelu_forward_kernel, "fp32", 4096, num_warps=warps)
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(ptx.asm["cubin"])
        file.flush()
        tool = knobs.nvidia.cuobjdump.path
        told = subprocess.run([tool, "-res-usage", file.name],
                              capture_output=True, text=True).stdout
    print(re.search(r"REG:(\\d+)", told)[1])
""")
    registers = [int(line) for line in lines]
    assert registers == sorted(registers, reverse=True)
    # 128 elements of a thread, and 8.
    assert registers[0] > 100
    assert registers[2] < 40
