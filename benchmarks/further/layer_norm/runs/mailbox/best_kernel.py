# layer_norm, trial 9, round 2: tune of 8, by builtin
# passed: 211.5 µs in the search
# confirmation passed: 212.2 µs
# library: no library step; LIBRARY = 'finish'
# on NVIDIA H200; torch 2.11.0+cu130, Triton 3.6.0
# config: BLOCK=8192, PLACE_BLOCK=2048, merge_moments.num_warps=2, normalise.num_stages=3, normalise.num_warps=4, part_moments.num_warps=8

"""Layer norm of long samples: backwards as before, the next sample's elements under way while these are written.

Idea: a program of the second pass waits for each load before it stores. The elements of the next sample, asked for
before these are written, keep twice as many bytes on their way to every SM; and no program needs more than its
registers, so that four of them share an SM.
Must move: x nearly twice, out once, weight and bias once ((3 * samples + 2) * size elements, less what L2 keeps).
"""

import torch
import triton
import triton.language as tl


@triton.jit
def part_moments(x_ptr, mean_ptr, squares_ptr, samples, size, parts, BLOCK: tl.constexpr):
    sample = tl.program_id(0) % samples
    part = tl.program_id(0) // samples
    place = part * BLOCK + tl.arange(0, BLOCK)
    inside = place < size
    x = tl.load(x_ptr + sample.to(tl.int64) * size + place, mask=inside, other=0.0)
    mean = tl.sum(x, 0) / tl.minimum(size - part * BLOCK, BLOCK)
    away = tl.where(inside, x - mean, 0.0)
    tl.store(mean_ptr + sample * parts + part, mean)
    tl.store(squares_ptr + sample * parts + part, tl.sum(away * away, 0))


@triton.jit
def merge_moments(
    mean_ptr, squares_ptr, sample_mean_ptr, scale_ptr, size, parts, BLOCK: tl.constexpr, PARTS: tl.constexpr
):  # fmt: skip
    sample = tl.program_id(0)
    each = tl.arange(0, PARTS)
    there = each < parts
    means = tl.load(mean_ptr + sample * parts + each, mask=there, other=0.0)
    squares = tl.load(squares_ptr + sample * parts + each, mask=there, other=0.0)
    count = tl.where(there, tl.minimum(size - each * BLOCK, BLOCK), 0).to(tl.float32)
    mean = tl.sum(means * count, 0) / size
    away = means - mean
    tl.store(sample_mean_ptr + sample, mean)
    tl.store(scale_ptr + sample, tl.rsqrt(tl.sum(squares + away * away * count, 0) / size + 1e-5))


@triton.jit
def normalise(
    x_ptr, weight_ptr, bias_ptr, out_ptr, sample_mean_ptr, scale_ptr, samples, size, PLACE_BLOCK: tl.constexpr
):  # fmt: skip
    backwards = tl.num_programs(0) - 1 - tl.program_id(0)  # what the first pass read last is still in L2
    place = backwards * PLACE_BLOCK + tl.arange(0, PLACE_BLOCK)
    inside = place < size
    weight = tl.load(weight_ptr + place, mask=inside)
    bias = tl.load(bias_ptr + place, mask=inside)
    offset = place.to(tl.int64)
    x = tl.load(x_ptr + offset, mask=inside, eviction_policy="evict_first")
    for sample in range(0, samples):
        ahead = inside & (sample + 1 < samples)
        following = tl.load(x_ptr + offset + size, mask=ahead, eviction_policy="evict_first")
        mean = tl.load(sample_mean_ptr + sample)
        scale = tl.load(scale_ptr + sample)
        out = (x - mean) * scale * weight + bias
        tl.store(out_ptr + offset, out, mask=inside, eviction_policy="evict_first")
        offset += size
        x = following


BLOCK = 8192
PLACE_BLOCK = 2048


def kernel_function(x, ln_weight, ln_bias):
    x = x.contiguous()
    samples = x.shape[0]
    size = x.numel() // samples
    parts = triton.cdiv(size, BLOCK)
    out = torch.empty_like(x)
    mean = torch.empty((samples, parts), device=x.device, dtype=torch.float32)
    squares = torch.empty((samples, parts), device=x.device, dtype=torch.float32)
    sample_mean = torch.empty((samples,), device=x.device, dtype=torch.float32)
    scale = torch.empty((samples,), device=x.device, dtype=torch.float32)
    part_moments[(samples * parts,)](x, mean, squares, samples, size, parts, BLOCK=BLOCK, num_warps=8)
    merge_moments[(samples,)](
        mean, squares, sample_mean, scale, size, parts, BLOCK=BLOCK, PARTS=triton.next_power_of_2(parts), num_warps=2
    )
    normalise[(triton.cdiv(size, PLACE_BLOCK),)](
        x, ln_weight, ln_bias, out, sample_mean, scale, samples, size, PLACE_BLOCK=PLACE_BLOCK, num_warps=4
    )
    return out
