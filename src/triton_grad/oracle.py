"""The truth to compare with, in float64, and the plain PyTorch formula."""

import math

import torch
from torch import Tensor


def normal_cdf_oracle(x: Tensor) -> Tensor:
    """Φ(x) in float64, to its last few digits in the lower tail too."""
    # 1 + erf(x / √2) would cancel there: it is 0 from about x = -8.3 on.
    return 0.5 * torch.erfc(-x.double() / math.sqrt(2.0))


def normal_pdf_oracle(x: Tensor) -> Tensor:
    """φ(x) in float64."""
    return torch.exp(-0.5 * x.double() ** 2) / math.sqrt(2.0 * math.pi)


def gelu_oracle(x: Tensor) -> Tensor:
    """x Φ(x) in float64."""
    # Φ is 0 from -40 on, and -inf * 0 would be nan.
    return x.double().clamp(min=-40.0) * normal_cdf_oracle(x)


def gelu_backward_oracle(grad_output: Tensor, x: Tensor) -> Tensor:
    """grad_output (Φ(x) + x φ(x)) in float64."""
    near = x.double().clamp(-40.0, 40.0)
    slope = normal_cdf_oracle(x) + near * normal_pdf_oracle(x)
    return grad_output.double() * slope


def square_oracle(x: Tensor) -> Tensor:
    """x² in float64."""
    return x.double() ** 2


def square_backward_oracle(grad_output: Tensor, x: Tensor) -> Tensor:
    """grad_output 2x in float64."""
    return grad_output.double() * 2.0 * x.double()


def gelu_backward_formula(grad_output: Tensor, x: Tensor) -> Tensor:
    """grad_output (Φ(x) + x φ(x)) in plain PyTorch, in x's own dtype."""
    cdf = 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0)))
    pdf = torch.exp(-0.5 * x**2) / math.sqrt(2.0 * math.pi)
    return grad_output * (cdf + x * pdf)
