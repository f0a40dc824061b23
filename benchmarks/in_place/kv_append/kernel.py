"""Keys and values of new tokens into their slots, one program for each token."""

import triton
import triton.language as tl


@triton.jit
def append_kernel(k_cache_ptr, v_cache_ptr, k_ptr, v_ptr, slots_ptr, width, BLOCK: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    slot = tl.load(slots_ptr + token)
    column = tl.arange(0, BLOCK)
    inside = column < width
    k = tl.load(k_ptr + token * width + column, mask=inside)
    v = tl.load(v_ptr + token * width + column, mask=inside)
    tl.store(k_cache_ptr + slot * width + column, k, mask=inside)
    tl.store(v_cache_ptr + slot * width + column, v, mask=inside)


def kernel_function(k_cache, v_cache, k, v, slots):
    assert k_cache.is_contiguous()
    assert v_cache.is_contiguous()
    assert k.is_contiguous()
    assert v.is_contiguous()
    tokens, heads, size = k.shape
    width = heads * size
    block = triton.next_power_of_2(width)
    append_kernel[(tokens,)](k_cache, v_cache, k, v, slots.contiguous(), width, BLOCK=block)
