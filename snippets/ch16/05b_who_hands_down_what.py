"""Which ordinary lines hand down a gradient that is not contiguous."""

from collections.abc import Callable

import torch

from triton_grad.device import DEVICE


def strides_handed_down(
    rest_of_the_network: Callable[[torch.Tensor], torch.Tensor],
) -> tuple[int, ...]:
    x = torch.randn(2, 3, 4, device=DEVICE, requires_grad=True)
    z = x * 1.0
    seen: list[tuple[int, ...]] = []
    z.register_hook(lambda grad: seen.append(grad.stride()))
    rest_of_the_network(z).backward()
    return seen[0]


def weighted(z: torch.Tensor) -> torch.Tensor:
    weight = torch.arange(z.numel(), device=z.device).reshape(z.shape)
    return (weight * z).sum()


def heads_last(z: torch.Tensor) -> torch.Tensor:
    return weighted(z.permute(1, 0, 2).reshape(3, 8))


def joined(z: torch.Tensor) -> torch.Tensor:
    return weighted(torch.cat([z, z.detach()], dim=2))


def interleaved(z: torch.Tensor) -> torch.Tensor:
    return weighted(torch.stack([z, z.detach()], dim=-1))


print("contiguous strides of the shape:", torch.empty(2, 3, 4).stride())
print("sum:", strides_handed_down(torch.sum))
print("sum over one axis:", strides_handed_down(lambda z: weighted(z.sum(0))))
print("permute and reshape:", strides_handed_down(heads_last))
print("cat:", strides_handed_down(joined))
print("stack:", strides_handed_down(interleaved))
print("mean:", strides_handed_down(torch.mean))
print("weighted sum:", strides_handed_down(weighted))
print("every second:", strides_handed_down(lambda z: z[..., ::2].sum()))
