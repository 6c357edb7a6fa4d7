"""How many units a right op may be off."""

# /// script
# requires-python = ">=3.11"
# dependencies = ["torch", "triton", "numpy"]
# ///

from triton_grad.testing.tolerance import ALLOWED, OF_PYTORCH, PERTURBATIONS

for dtype, units in ALLOWED.items():
    print(f"{str(dtype).removeprefix('torch.')}: {units:g}")
print(f"times PyTorch's error: {OF_PYTORCH:g}")
print(f"times the inputs are moved: {PERTURBATIONS}")
