"""A sort copied from Triton's own sources, with the names that those use."""

import torch
import triton
import triton.language as tl
import triton.language.core as core
from triton.language.core import _tensor_member_fn
from triton.language.standard import sum, zeros_like  # noqa: A004 - as published
from triton.runtime.jit import constexpr_function, jit


@constexpr_function
def _log2(i):
    log2 = 0
    n = i
    while n > 1:
        n >>= 1
        log2 += 1
    return log2


@jit
def _compare_and_swap(x, flip, i: core.constexpr, n_dims: core.constexpr):
    n_outer: core.constexpr = x.numel >> n_dims
    shape: core.constexpr = [n_outer * 2**i, 2, 2 ** (n_dims - i - 1)]
    y = core.reshape(x, shape)
    mask = core.arange(0, 2)[None, :, None]
    left = core.broadcast_to(sum(y * (1 - mask), 1)[:, None, :], shape).to(y.dtype)
    right = core.broadcast_to(sum(y * mask, 1)[:, None, :], shape).to(y.dtype)
    left = core.reshape(left, x.shape)
    right = core.reshape(right, x.shape)
    idtype = core.get_int_dtype(bitwidth=x.dtype.primitive_bitwidth, signed=True)
    ileft = left.to(idtype, bitcast=True)
    iright = right.to(idtype, bitcast=True)
    ix = x.to(idtype, bitcast=True)
    ret = ix ^ core.where((left > right) != flip, ileft ^ iright, zeros_like(ix))
    return ret.to(x.dtype, bitcast=True)


@jit
def _bitonic_merge(x, stage: core.constexpr, order: core.constexpr, n_dims: core.constexpr):
    n_outer: core.constexpr = x.numel >> n_dims
    core.static_assert(stage <= n_dims)
    if order == 2:
        shape: core.constexpr = [n_outer * 2 ** (n_dims - 1 - stage), 2, 2**stage]
        flip = core.reshape(core.broadcast_to(core.arange(0, 2)[None, :, None], shape), x.shape)
    else:
        flip = order
    for i in core.static_range(core._unwrap_if_constexpr(stage)):
        x = _compare_and_swap(x, flip, i + (n_dims - stage), n_dims)
    return x


@_tensor_member_fn
@jit
def sort_impl(x, dim: core.constexpr = None, descending: core.constexpr = core.CONSTEXPR_0):
    _dim: core.constexpr = len(x.shape) - 1 if dim is None else dim
    core.static_assert(_dim == len(x.shape) - 1, "only minor dimension is currently supported")
    n_dims: core.constexpr = _log2(x.shape[_dim])
    for i in core.static_range(1, n_dims + 1):
        x = _bitonic_merge(x, i, 2 if i < n_dims else descending, n_dims)
    return x


@triton.jit
def sort_kernel(x_ptr, out_ptr, stride_x, columns, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    inside = lanes < columns
    x = tl.load(x_ptr + tl.program_id(0) * stride_x + lanes, mask=inside, other=2147483647)
    tl.store(out_ptr + tl.program_id(0) * columns + lanes, sort_impl(x), mask=inside)


def kernel_function(x):
    rows, columns = x.shape
    if x.stride(1) != 1:
        x = x.contiguous()
    out = torch.empty((rows, columns), dtype=x.dtype, device=x.device)
    sort_kernel[(rows,)](x, out, x.stride(0), columns, BLOCK=triton.next_power_of_2(columns))
    return out
