"""What TF32 makes of a reference in float32: its products computed in float64 with factors of 10 mantissa bits.

PyTorch's own error with TF32 is not enough for a problem that states it: for small or odd sizes cuBLAS takes kernels
that do not round. A Triton kernel's `tl.dot` hands float32 to the tensor cores as it is at every size, and they read
its first bits only: its factors are cut off, not rounded, so that errors of values of one sign add up.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode

from kernelwright.worker.judge import rounding
from kernelwright.worker.reference.instance import Instance, cast, operator_name, outputs

DROPPED_BITS = 13
"""float32 has 23 bits of mantissa, TF32 has 10."""

SHARE = 0.625
"""Share of the error here that counts as PyTorch's own. With the multiples of `tolerance.ROUNDED_FACTORS` a kernel may
have 2.5 times the largest and 1.25 times the rms error; an output rounded to 7 bits has over twice that rms error."""


class _CuttingOff(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        positions = rounding.FACTORS.get(operator_name(func), ())
        args = tuple(cut_off(one) if number in positions else one for number, one in enumerate(args))
        return func(*args, **(kwargs or {}))


def cut_off(value: Tensor) -> Tensor:
    """float64 values without the bits that TF32 does not have; others as they are."""
    if value.dtype != torch.float64:
        return value
    narrow = value.float()
    cut = (narrow.view(torch.int32) & -(1 << DROPPED_BITS)).view(torch.float32)
    return torch.where(narrow.isfinite(), cut.double(), value)


def is_used(instance: Instance) -> bool:
    """Whether float32 products of this reference are computed in TF32."""
    on_gpu = any(isinstance(one, Tensor) and one.is_cuda for one in (*instance.inputs, *instance.module.parameters()))
    return on_gpu and bool(torch.backends.cuda.matmul.allow_tf32)


def outputs_with_tf32(instance: Instance) -> tuple[Tensor, ...]:
    """The outputs in float64 with the factors of products cut off."""
    wide = cast(instance, "float64")
    with sdpa_kernel(SDPBackend.MATH), _CuttingOff():
        return outputs(wide)
