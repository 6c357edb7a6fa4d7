"""How a trap's backward refuses what is no part of the trap: aloud."""

import torch


def refuse_second_order(op: str) -> None:
    """Raise in a backward that is to be differentiated itself.

    torch's once_differentiable would not: `torch.autograd.grad` by an input
    finds no way to it through the node that raises, and leaves it out.

    Raises:
        NotImplementedError: Under create_graph=True.
    """
    if torch.is_grad_enabled():
        raise NotImplementedError(f"{op} has no second derivative")
