"""Absent packages under try, flags from their availability, and what hangs on them in conditions."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

if TYPE_CHECKING:
    from transformers import PretrainedConfig

try:
    import fast_norms
    from fast_norms.ops.triton.layer_norm import layer_norm_fn

    FLASH_VERSION = tuple(int(part) for part in fast_norms.__version__.split(".")[:2])
except ImportError:
    fast_norms = None
    layer_norm_fn = None
    FLASH_VERSION = (0, 0)

if importlib.util.find_spec("xformers") is not None:
    import xformers.ops as xops
else:
    xops = None

_HAS_NPU = hasattr(torch, "npu") and torch.npu.is_available()
_IS_HIP = torch.version.hip is not None

if _IS_HIP:
    WARPS = 2
elif torch.cuda.is_available() and torch.cuda.get_device_capability()[0] >= 9:
    WARPS = 8
else:
    WARPS = 4


@triton.jit
def softmax_rows(out_ptr, x_ptr, stride_x, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride_x + lanes, mask=lanes < columns, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * columns + lanes, e / tl.sum(e, axis=0), mask=lanes < columns)


def softmax(x: torch.Tensor, config: PretrainedConfig | None = None) -> torch.Tensor:
    if fast_norms is not None and FLASH_VERSION >= (9, 0):
        return fast_norms.softmax(x)
    if xops is not None and config is not None:
        return xops.softmax(x)
    if _HAS_NPU:
        return torch.npu.softmax(x)
    rows, columns = x.shape
    out = torch.empty((rows, columns), dtype=x.dtype, device=x.device)
    softmax_rows[(rows,)](out, x, x.stride(0), columns, BLOCK=triton.next_power_of_2(columns), num_warps=WARPS)
    return out


def kernel_function(x):
    return softmax(x)
