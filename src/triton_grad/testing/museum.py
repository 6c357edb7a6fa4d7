"""The traps, each beside its truth and a test that passes it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from triton_grad.oracle import gelu_oracle, square_oracle
from triton_grad.testing.weak_tests import (
    WeakTest,
    after_warm_up,
    contiguous_only,
    first_gradient_only,
    first_input_only,
    float32_only,
    forward_only,
    gradcheck,
    moderate_values,
    one_call,
    one_seed,
    positive_values,
    powers_of_two_only,
    sum_backward,
)
from triton_grad.traps.add_bias_backward_kernel_no_atomic import (
    TritonAddBiasNoAtomic,
)
from triton_grad.traps.gelu_backward_kernel_no_chain_rule import (
    TritonGELUNoChainRule,
)
from triton_grad.traps.gelu_backward_kernel_no_mask import (
    TritonGELUNoMask,
)
from triton_grad.traps.gelu_forward_kernel_no_upcast import (
    TritonGELUNoUpcast,
)
from triton_grad.traps.gelu_forward_kernel_one_plus_erf import (
    TritonGELUOnePlusErf,
)
from triton_grad.traps.layer_norm_forward_kernel_padding_in_variance import (
    TritonLayerNormPaddingInVariance,
)
from triton_grad.traps.relu_forward_kernel_drops_nan import (
    TritonReLUDropsNaN,
)
from triton_grad.traps.relu_forward_kernel_stores_positive import (
    TritonReLUStoresPositive,
)
from triton_grad.traps.rms_norm_backward_kernel_no_statistics import (
    TritonRMSNormNoStatistics,
)
from triton_grad.traps.row_mean_kernel_divides_by_block import (
    TritonRowMeanDividesByBlock,
)
from triton_grad.traps.row_mean_square_kernel_16_bit_accumulator import (
    TritonRowMeanSquare16BitAccumulator,
)
from triton_grad.traps.row_sum_kernel_no_other import (
    TritonRowSumNoOther,
)
from triton_grad.traps.row_sum_kernel_no_reset_to_zero import (
    TritonRowSumNoResetToZero,
)
from triton_grad.traps.softmax_forward_kernel_zero_padding import (
    TritonSoftmaxZeroPadding,
)
from triton_grad.traps.square_backward_kernel_mask_one_too_many import (
    TritonSquareMaskOneTooMany,
)
from triton_grad.traps.square_forward_kernel_32_bit_offset import (
    TritonSquare32BitOffset,
)
from triton_grad.traps.square_forward_kernel_load_no_mask import (
    TritonSquareLoadNoMask,
)
from triton_grad.traps.square_forward_kernel_store_no_mask import (
    TritonSquareStoreNoMask,
)
from triton_grad.traps.triton_gelu_backward_contiguous_grad_only import (
    TritonGELUContiguousGradOnly,
)
from triton_grad.traps.triton_gelu_backward_no_contiguous import (
    TritonGELUNoContiguous,
)
from triton_grad.traps.triton_gelu_forward_no_contiguous import (
    TritonGELUForwardNoContiguous,
)
from triton_grad.traps.triton_gelu_overwrites_grad_output import (
    TritonGELUOverwritesGradOutput,
)
from triton_grad.traps.triton_gelu_raw_backward import (
    TritonGELURawBackward,
)
from triton_grad.traps.triton_gelu_saves_on_ctx import (
    TritonGELUSavesOnCtx,
)
from triton_grad.traps.triton_multiply_swapped_gradients import (
    TritonMultiplySwappedGradients,
)
from triton_grad.traps.triton_scale_columns_backward_x_strides import (
    TritonScaleColumnsXStrides,
)
from triton_grad.traps.triton_scale_columns_no_weight_gradient import (
    TritonScaleColumnsNoWeightGradient,
)
from triton_grad.traps.triton_scale_overwrites_x import (
    TritonScaleOverwritesX,
)
from triton_grad.traps.triton_softmax_forward_contiguous_rows import (
    TritonSoftmaxContiguousRows,
)
from triton_grad.traps.triton_square_current_device import (
    TritonSquareCurrentDevice,
)
from triton_grad.traps.triton_square_forward_floor_grid import (
    TritonSquareFloorGrid,
)
from triton_grad.traps.triton_square_shared_result import (
    TritonSquareSharedResult,
)
from triton_grad.traps.triton_square_writes_into_saved import (
    TritonSquareWritesIntoSaved,
)


def softmax_reference(x: Tensor) -> Tensor:
    return torch.softmax(x, -1)


def row_sum_reference(x: Tensor) -> Tensor:
    return x.sum(-1)


def row_mean_reference(x: Tensor) -> Tensor:
    return x.mean(-1)


def row_mean_square_reference(x: Tensor) -> Tensor:
    return x.square().mean(-1)


def layer_norm_reference(x: Tensor, eps: float) -> Tensor:
    return torch.nn.functional.layer_norm(x, x.shape[-1:], eps=eps)


def rms_norm_reference(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    return torch.nn.functional.rms_norm(x, x.shape[-1:], weight, eps)


@dataclass(frozen=True)
class Exhibit:
    """A trap, and what has to be known to judge a test by it.

    Attributes:
        name: The trap's module in `triton_grad.traps`.
        family: One of `FAMILIES`.
        op: The wrong op, differentiable.
        oracle: The right one, in PyTorch; it takes the same arguments.
        inputs: These, as `check_op` takes them.
        cause: The name of the cause that `check_op` has to find.
        misses: A test that passes the trap.
        needs: The least on which it can be caught: "interpreter", "a GPU"
            or "two GPUs".
        options: Further keyword arguments of `check_op`.
    """

    name: str
    family: str
    op: Callable[..., Tensor]
    oracle: Callable[..., Tensor]
    inputs: Sequence[Any]
    cause: str
    misses: WeakTest
    needs: str = "interpreter"
    options: Mapping[str, Any] = field(default_factory=dict)


FAMILIES = (
    "Chain rule",
    "Masks and grids",
    "Layouts",
    "Precision",
    "Reductions",
    "Autograd",
    "Launches",
)

# Another lesson, which is told of one trap alone.
OF_THE_TEACHING_KERNEL = {
    "known": {
        "small results": "chapter 16's kernel computes 1 + erf(x / √2)",
        "special values": "chapter 16's kernel gives nan at -inf",
    }
}

EXHIBITS = (
    Exhibit(
        name="gelu_backward_kernel_no_chain_rule",
        family="Chain rule",
        op=TritonGELUNoChainRule.apply,
        oracle=gelu_oracle,
        inputs=("...",),
        cause="no chain rule",
        misses=sum_backward,
        options=OF_THE_TEACHING_KERNEL,
    ),
    Exhibit(
        name="rms_norm_backward_kernel_no_statistics",
        family="Chain rule",
        op=TritonRMSNormNoStatistics.apply,
        oracle=rms_norm_reference,
        inputs=(
            "rows cols",
            "cols",
            1e-5,
        ),
        cause="term missing",
        misses=forward_only,
    ),
    Exhibit(
        name="triton_multiply_swapped_gradients",
        family="Chain rule",
        op=TritonMultiplySwappedGradients.apply,
        oracle=torch.mul,
        inputs=(
            "...",
            "...",
        ),
        cause="gradient in another input's place",
        misses=one_seed,
    ),
    Exhibit(
        name="triton_scale_columns_no_weight_gradient",
        family="Chain rule",
        op=TritonScaleColumnsNoWeightGradient.apply,
        oracle=torch.mul,
        inputs=(
            "rows cols",
            "cols",
        ),
        cause="gradient missing",
        misses=first_input_only,
    ),
    Exhibit(
        name="gelu_backward_kernel_no_mask",
        family="Masks and grids",
        op=TritonGELUNoMask.apply,
        oracle=gelu_oracle,
        inputs=("...",),
        cause="no mask",
        misses=powers_of_two_only,
        options=OF_THE_TEACHING_KERNEL,
    ),
    Exhibit(
        name="square_forward_kernel_load_no_mask",
        family="Masks and grids",
        op=TritonSquareLoadNoMask.apply,
        oracle=square_oracle,
        inputs=("...",),
        cause="no mask on a load",
        misses=powers_of_two_only,
    ),
    Exhibit(
        name="square_forward_kernel_store_no_mask",
        family="Masks and grids",
        op=TritonSquareStoreNoMask.apply,
        oracle=square_oracle,
        inputs=("...",),
        cause="no mask on a store",
        misses=powers_of_two_only,
    ),
    Exhibit(
        name="square_backward_kernel_mask_one_too_many",
        family="Masks and grids",
        op=TritonSquareMaskOneTooMany.apply,
        oracle=square_oracle,
        inputs=("...",),
        cause="mask one too many",
        misses=powers_of_two_only,
    ),
    Exhibit(
        name="triton_square_forward_floor_grid",
        family="Masks and grids",
        op=TritonSquareFloorGrid.apply,
        oracle=square_oracle,
        inputs=("...",),
        cause="last block missing",
        misses=powers_of_two_only,
    ),
    Exhibit(
        name="relu_forward_kernel_stores_positive",
        family="Masks and grids",
        op=TritonReLUStoresPositive.apply,
        oracle=torch.relu,
        inputs=("...",),
        cause="unwritten output",
        misses=positive_values,
    ),
    Exhibit(
        name="square_forward_kernel_32_bit_offset",
        family="Masks and grids",
        op=TritonSquare32BitOffset.apply,
        oracle=square_oracle,
        inputs=("...",),
        cause="32-bit offset",
        misses=contiguous_only,
    ),
    Exhibit(
        name="triton_gelu_forward_no_contiguous",
        family="Layouts",
        op=TritonGELUForwardNoContiguous.apply,
        oracle=gelu_oracle,
        inputs=("...",),
        cause="input walked in memory order",
        misses=contiguous_only,
        options=OF_THE_TEACHING_KERNEL,
    ),
    Exhibit(
        name="triton_gelu_backward_no_contiguous",
        family="Layouts",
        op=TritonGELUNoContiguous.apply,
        oracle=gelu_oracle,
        inputs=("...",),
        cause="gradient walked in memory order",
        misses=gradcheck,
        options=OF_THE_TEACHING_KERNEL,
    ),
    Exhibit(
        name="triton_gelu_backward_contiguous_grad_only",
        family="Layouts",
        op=TritonGELUContiguousGradOnly.apply,
        oracle=gelu_oracle,
        inputs=("...",),
        cause="input walked in memory order",
        misses=contiguous_only,
        options=OF_THE_TEACHING_KERNEL,
    ),
    Exhibit(
        name="triton_scale_columns_backward_x_strides",
        family="Layouts",
        op=TritonScaleColumnsXStrides.apply,
        oracle=torch.mul,
        inputs=(
            "rows cols",
            "cols",
        ),
        cause="gradient read with the input's strides",
        misses=gradcheck,
    ),
    Exhibit(
        name="triton_softmax_forward_contiguous_rows",
        family="Layouts",
        op=TritonSoftmaxContiguousRows.apply,
        oracle=softmax_reference,
        inputs=("rows cols",),
        cause="input walked in memory order",
        misses=contiguous_only,
    ),
    Exhibit(
        name="gelu_forward_kernel_no_upcast",
        family="Precision",
        op=TritonGELUNoUpcast.apply,
        oracle=gelu_oracle,
        inputs=("...",),
        cause="no upcast",
        misses=float32_only,
        options=OF_THE_TEACHING_KERNEL,
    ),
    Exhibit(
        name="row_mean_square_kernel_16_bit_accumulator",
        family="Precision",
        op=TritonRowMeanSquare16BitAccumulator.apply,
        oracle=row_mean_square_reference,
        inputs=("rows cols",),
        cause="16-bit accumulator",
        misses=float32_only,
        # The interpreter cannot add in bfloat16.
        options={"dtypes": (torch.float16, torch.float32)},
    ),
    Exhibit(
        name="gelu_forward_kernel_one_plus_erf",
        family="Precision",
        op=TritonGELUOnePlusErf.apply,
        oracle=gelu_oracle,
        inputs=("...",),
        cause="cancellation in the tail",
        misses=moderate_values,
    ),
    Exhibit(
        name="relu_forward_kernel_drops_nan",
        family="Precision",
        op=TritonReLUDropsNaN.apply,
        oracle=torch.relu,
        inputs=("...",),
        cause="nan dropped",
        misses=contiguous_only,
    ),
    Exhibit(
        name="row_mean_kernel_divides_by_block",
        family="Reductions",
        op=TritonRowMeanDividesByBlock.apply,
        oracle=row_mean_reference,
        inputs=("rows cols",),
        cause="padding lanes in a reduction",
        misses=powers_of_two_only,
    ),
    Exhibit(
        name="softmax_forward_kernel_zero_padding",
        family="Reductions",
        op=TritonSoftmaxZeroPadding.apply,
        oracle=softmax_reference,
        inputs=("rows cols",),
        cause="padding lanes in a reduction",
        misses=powers_of_two_only,
    ),
    Exhibit(
        name="layer_norm_forward_kernel_padding_in_variance",
        family="Reductions",
        op=TritonLayerNormPaddingInVariance.apply,
        oracle=layer_norm_reference,
        inputs=(
            "rows cols",
            1e-5,
        ),
        cause="padding lanes in a reduction",
        misses=powers_of_two_only,
    ),
    Exhibit(
        name="row_sum_kernel_no_other",
        family="Reductions",
        op=TritonRowSumNoOther.apply,
        oracle=row_sum_reference,
        inputs=("rows cols",),
        cause="undefined lanes",
        misses=contiguous_only,
    ),
    Exhibit(
        name="add_bias_backward_kernel_no_atomic",
        family="Reductions",
        op=TritonAddBiasNoAtomic.apply,
        oracle=torch.add,
        inputs=(
            "rows cols",
            "cols",
        ),
        cause="racy accumulation",
        misses=contiguous_only,
    ),
    Exhibit(
        name="triton_gelu_saves_on_ctx",
        family="Autograd",
        op=TritonGELUSavesOnCtx.apply,
        oracle=gelu_oracle,
        inputs=("...",),
        cause="saved outside save_for_backward",
        misses=gradcheck,
    ),
    Exhibit(
        name="triton_gelu_overwrites_grad_output",
        family="Autograd",
        op=TritonGELUOverwritesGradOutput.apply,
        oracle=gelu_oracle,
        inputs=("...",),
        cause="writes into grad_output",
        misses=sum_backward,
        options={
            "known": {
                **OF_THE_TEACHING_KERNEL["known"],
                "second order": "its kernel is launched bare as well",
            }
        },
    ),
    Exhibit(
        name="triton_scale_overwrites_x",
        family="Autograd",
        op=TritonScaleOverwritesX.apply,
        oracle=torch.mul,
        inputs=(
            "...",
            0.125,
        ),
        cause="writes into its input",
        misses=one_call,
    ),
    Exhibit(
        name="triton_gelu_raw_backward",
        family="Autograd",
        op=TritonGELURawBackward.apply,
        oracle=gelu_oracle,
        inputs=("...",),
        cause="second order dropped",
        misses=first_gradient_only,
    ),
    Exhibit(
        name="triton_square_writes_into_saved",
        family="Autograd",
        op=TritonSquareWritesIntoSaved.apply,
        oracle=square_oracle,
        inputs=("...",),
        cause="backward works once",
        misses=one_call,
    ),
    Exhibit(
        name="row_sum_kernel_no_reset_to_zero",
        family="Launches",
        op=TritonRowSumNoResetToZero.apply,
        oracle=row_sum_reference,
        inputs=("rows cols",),
        cause="autotune trials share an output",
        misses=after_warm_up,
    ),
    Exhibit(
        name="triton_square_shared_result",
        family="Launches",
        op=TritonSquareSharedResult.apply,
        oracle=square_oracle,
        inputs=("...",),
        cause="result shared between calls",
        misses=one_call,
    ),
    Exhibit(
        name="triton_square_current_device",
        family="Launches",
        op=TritonSquareCurrentDevice.apply,
        oracle=square_oracle,
        inputs=("...",),
        cause="wrong current device",
        misses=contiguous_only,
        needs="two GPUs",
    ),
)
