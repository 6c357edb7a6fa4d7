from triton_grad.testing.check import check_op as check_op

__all__ = ["check_op"]
