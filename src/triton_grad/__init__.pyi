from triton_grad.device import DEVICE as DEVICE
from triton_grad.modules import GELU as GELU
from triton_grad.ops.gelu import TritonGELU as TritonGELU
from triton_grad.ops.gelu import gelu as gelu
from triton_grad.ops.square import TritonSquare as TritonSquare
from triton_grad.ops.square import square as square
