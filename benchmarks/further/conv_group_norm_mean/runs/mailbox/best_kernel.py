# conv_group_norm_mean, trial 3, round 1: improve of 2, by mailbox:assistant
# passed: 2.530 ms in the search
# confirmation passed: 2.530 ms
# library: no library step; LIBRARY = 'finish'
# on NVIDIA H200; torch 2.11.0+cu130, Triton 3.6.0

"""A convolution in 3D, hardswish, group norm, and the mean over space: a march through the planes that stores moments only.

Idea: the mean of a normalised channel needs no normalised values: it is (mean of the channel - mean of the group) / deviation
of the group * weight + bias. So a program keeps the mean and the squared deviations of what the convolution gives, and a
last kernel merges them. A program has BLOCK_M positions of a plane and goes through the planes of x: each plane is read
and split into the parts that tensor cores multiply once, and its product has 64 columns, 16 channels for each of the four
output planes to which it belongs; their sums wait in registers until the fourth plane completes one.
Must move: x once (samples * channels * depth * height * width elements).
Serves: kernel 4, stride 1, no padding, 4 groups.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def high_and_low(x):
    # Both have 11 bits, so that tensor cores multiply them exactly; of infinity there is no low part.
    high = (x.to(tl.int32, bitcast=True) & -8192).to(tl.float32, bitcast=True)
    low = ((x - high).to(tl.int32, bitcast=True) + 4096) & -8192
    is_finite = tl.abs(x) < float("inf")
    return tl.where(is_finite, high, x), tl.where(is_finite, low.to(tl.float32, bitcast=True), 0.0)


@triton.jit
def split_weights(weight_ptr, parts_ptr, in_channels, out_channels, numel, OUT: tl.constexpr, WIDTH: tl.constexpr):
    """From (output channel, input channel, 4, 4 * 4) to (input channel, 4, output channel, 4 * 4), in two parts and with
    zeros up to OUT output channels."""
    index = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    mask = index < numel
    element, out_channel, plane, channel = index % 16, index // 16 % OUT, index // (16 * OUT) % 4, index // (64 * OUT)
    place = ((out_channel * in_channels + channel) * 4 + plane) * 16 + element
    high, low = high_and_low(tl.load(weight_ptr + place, mask=mask & (out_channel < out_channels), other=0.0))
    tl.store(parts_ptr + index, high, mask=mask)
    tl.store(parts_ptr + numel + index, low, mask=mask)


@triton.jit
def march(
    x_ptr, parts_ptr, bias_ptr, moments_ptr, out_channels, depth, height, width, tiles,
    IN: tl.constexpr, OUT: tl.constexpr, BLOCK_M: tl.constexpr,
):  # fmt: skip
    out_width = width - 3
    area = (height - 3) * out_width
    sample = (tl.program_id(0) // tiles).to(tl.int64)
    first = tl.program_id(0) % tiles * BLOCK_M
    position = tl.minimum(first + tl.arange(0, BLOCK_M), area - 1)  # those beyond the plane repeat its last one
    element = tl.arange(0, 16)
    channel = tl.arange(0, OUT)
    at = position // out_width * width + position % out_width
    size = depth * height * width
    x_plane = x_ptr + sample * size * IN + (at[:, None] + (element // 4 * width + element % 4)[None, :])
    part_of = parts_ptr + (tl.arange(0, 4 * OUT)[None, :] * 16 + element[:, None])
    NUMEL: tl.constexpr = IN * 64 * OUT
    bias = tl.load(bias_ptr + channel, mask=channel < out_channels, other=0.0)[None, :]
    # The output planes that began with the last plane, the one before it and the one before that.
    last = tl.zeros((BLOCK_M, OUT), dtype=tl.float32)
    second = tl.zeros((BLOCK_M, OUT), dtype=tl.float32)
    third = tl.zeros((BLOCK_M, OUT), dtype=tl.float32)
    mean = tl.zeros((BLOCK_M, OUT), dtype=tl.float32)
    squares = tl.zeros((BLOCK_M, OUT), dtype=tl.float32)
    for plane in range(0, depth):
        total = tl.zeros((BLOCK_M, 4 * OUT), dtype=tl.float32)
        for c in tl.static_range(IN):
            high, low = high_and_low(tl.load(x_plane + c * size))
            b = tl.load(part_of + c * 64 * OUT)
            b_low = tl.load(part_of + (NUMEL + c * 64 * OUT))
            part = tl.dot(low, b, input_precision="tf32")
            part = tl.dot(high, b_low, part, input_precision="tf32")
            part = tl.where(part == part, part, 0.0)  # zero times infinity must not count
            total += tl.dot(high, b, part, input_precision="tf32")
        x_plane += height * width
        even, odd = tl.split(tl.permute(tl.reshape(total, (BLOCK_M, 2, 2, OUT)), (0, 3, 1, 2)))
        sum0, sum2 = tl.split(even)
        sum1, sum3 = tl.split(odd)
        y = third + sum3 + bias
        third = second + sum2
        second = last + sum1
        last = sum0
        y *= tl.minimum(tl.maximum(y + 3.0, 0.0, propagate_nan=tl.PropagateNan.ALL), 6.0,
                        propagate_nan=tl.PropagateNan.ALL) * 0.16666666666666666  # fmt: skip
        complete = plane >= 3
        share = 1.0 / tl.maximum(plane - 2, 1).to(tl.float32)
        delta = y - mean
        new_mean = mean + delta * share
        squares = tl.where(complete, squares + delta * (y - new_mean), squares)
        mean = tl.where(complete, new_mean, mean)
    inside = (first + tl.arange(0, BLOCK_M) < area)[:, None]
    rows = tl.minimum(area - first, BLOCK_M).to(tl.float32)
    tile_mean = tl.sum(tl.where(inside, mean, 0.0), 0) / rows
    delta = mean - tile_mean[None, :]
    squares += delta * delta * (depth - 3).to(tl.float32)
    tile_squares = tl.sum(tl.where(inside, squares, 0.0), 0)
    moments = moments_ptr + tl.program_id(0).to(tl.int64) * 2 * OUT + channel
    tl.store(moments, tile_mean)
    tl.store(moments + OUT, tile_squares)


@triton.jit
def merge(
    moments_ptr, weight_ptr, bias_ptr, out_ptr, out_channels, in_group, planes, area, tiles, eps,
    OUT: tl.constexpr, TILES: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """The moments of all tiles of a sample by Chan's formula, those of its groups, and the result. ROWS: of a tile."""
    sample = tl.program_id(0).to(tl.int64)
    tile = tl.arange(0, TILES)
    channel = tl.arange(0, OUT)
    moments = moments_ptr + sample * tiles * 2 * OUT + (tile[:, None] * 2 * OUT + channel[None, :])
    present = (tile < tiles)[:, None] & (channel < out_channels)[None, :]
    means = tl.load(moments, mask=present, other=0.0)
    squares = tl.load(moments + OUT, mask=present, other=0.0)
    rows = tl.maximum(tl.minimum(area - tile * ROWS, ROWS), 0).to(tl.float32)[:, None]
    mean = tl.sum(means * rows, 0) / area
    delta = tl.where(present, means - mean[None, :], 0.0)
    count = area.to(tl.float32) * planes
    square = tl.sum(squares + delta * delta * (rows * planes), 0)
    # Of each channel (down) its group's channels (across), which `mean` holds across.
    together = (channel // in_group)[:, None] == (channel // in_group)[None, :]
    together &= (channel < out_channels)[None, :]
    group_mean = tl.sum(tl.where(together, mean[None, :], 0.0), 1) / in_group
    delta = tl.where(together, mean[None, :] - group_mean[:, None], 0.0)
    variance = tl.sum(tl.where(together, square[None, :] / count, 0.0) + delta * delta, 1) / in_group
    own = tl.sum(tl.where(channel[:, None] == channel[None, :], delta, 0.0), 1)
    weight = tl.load(weight_ptr + channel, mask=channel < out_channels, other=0.0)
    bias = tl.load(bias_ptr + channel, mask=channel < out_channels, other=0.0)
    out = own / tl.sqrt_rn(variance + eps) * weight + bias
    tl.store(out_ptr + sample * out_channels + channel, out, mask=channel < out_channels)


BLOCK_M = 128
NUM_WARPS = 8
NUM_STAGES = 2


def kernel_function(x, conv_weight, conv_bias, group_norm_weight, group_norm_bias):
    x = x.contiguous()
    batch, in_channels, depth, height, width = x.shape
    out_channels = conv_weight.shape[0]
    padded = max(triton.next_power_of_2(out_channels), 16)
    numel = in_channels * 64 * padded
    parts = torch.empty((2, numel), dtype=x.dtype, device=x.device)
    split_weights[(triton.cdiv(numel, 256),)](
        conv_weight.contiguous(), parts, in_channels, out_channels, numel, OUT=padded, WIDTH=256, num_warps=4
    )  # fmt: skip
    area = (height - 3) * (width - 3)
    tiles = triton.cdiv(area, BLOCK_M)
    moments = torch.empty((batch, tiles, 2, padded), dtype=x.dtype, device=x.device)
    march[(batch * tiles,)](
        x, parts, conv_bias.contiguous(), moments, out_channels, depth, height, width, tiles,
        IN=in_channels, OUT=padded, BLOCK_M=BLOCK_M, num_warps=NUM_WARPS, num_stages=NUM_STAGES,
    )  # fmt: skip
    out = torch.empty((batch, out_channels), dtype=x.dtype, device=x.device)
    merge[(batch,)](
        moments, group_norm_weight.contiguous(), group_norm_bias.contiguous(), out, out_channels, out_channels // 4,
        depth - 3, area, tiles, 1e-5, OUT=padded, TILES=triton.next_power_of_2(tiles), ROWS=BLOCK_M, num_warps=1,
    )  # fmt: skip
    return out
