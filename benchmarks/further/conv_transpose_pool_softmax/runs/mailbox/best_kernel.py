# conv_transpose_pool_softmax, trial 6, round 2: improve of 3, by mailbox:assistant
# passed: 298.4 µs in the search
# confirmation passed: 300.2 µs
# library: no library step; LIBRARY = 'finish'
# on NVIDIA H200; torch 2.11.0+cu130, Triton 3.6.0

"""A transposed convolution and all that follows in registers: maximum of a cell, softmax, swish, maximum over channels.

Idea: output o of the transposed convolution reads input i with element k where o + 1 = 2 i + k, so that the cell of
outputs (2 d, 2 d + 1) x ... reads inputs d, d + 1 (x h, h + 1; x w, w + 1) only, and pooling takes the maximum of a cell.
A thread has all channels of its cells: the convolution, which is nowhere in memory, costs the 27 elements x 3 x 16
products that it has, exact on CUDA cores. Tensor cores would need three times (parts) 2.4 times (zeros that fill the
depth of 32 for each of the 8 outputs) as many, and exchange channels between lanes. A first kernel puts the weights in
the order of their use, all output channels of a row adjacent. The convolution's bias is added to the maximum. Swish falls
up to -1.28 and rises from there, so that its maximum over channels is that of the largest or of the smallest number.
Must move: x once and one number for each cell.
Serves: window 3, stride 2, padding 1, output padding 1, pooling of 2 with stride 2 and no padding, float32.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def larger(x, y):
    return tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def smaller(x, y):
    return tl.minimum(x, y, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def arrange_weights(weight_ptr, taps_ptr, in_channels, out_channels, PADDED: tl.constexpr):
    """taps: rows of PADDED weights, by place of the output (d, h) in the cell, place of the input (d, h), channel of the
    input, and element along w: 1 for the first output, 2 and then 0 for the second one."""
    channel = tl.arange(0, PADDED)
    c = tl.program_id(0)
    row = 0
    for at in tl.static_range(4):
        for source in tl.static_range(4):
            if source & at == source:
                d = (at >> 1) + 1 - 2 * (source >> 1)
                h = at % 2 + 1 - 2 * (source % 2)
                element = weight_ptr + (c * out_channels + channel) * 27 + d * 9 + h * 3
                row_ptr = taps_ptr + (row * in_channels + c) * 3 * PADDED + channel
                for w in tl.static_range(3):
                    weight = tl.load(element + (w + 1) % 3, mask=channel < out_channels, other=0.0)
                    tl.store(row_ptr + w * PADDED, weight)
                row += 1


@triton.jit
def pool_cells(
    x_ptr, taps_ptr, bias_ptr, subtract_ptr, out_ptr, tiles, depth, height, width,
    IN_CHANNELS: tl.constexpr, OUT_CHANNELS: tl.constexpr, PADDED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    plane = tl.program_id(0) // tiles
    d = plane % depth
    area = height * width
    volume = depth * area
    cell = tl.program_id(0) % tiles * BLOCK + tl.arange(0, BLOCK)
    is_cell = cell < area
    h = cell // width
    w = cell % width
    x_plane = x_ptr + (plane // depth).to(tl.int64) * IN_CHANNELS * volume + d * area
    channel = tl.arange(0, PADDED)
    best = tl.full((PADDED, BLOCK), float("-inf"), dtype=tl.float32)
    for at_d in range(2):
        for at_h in range(2):
            even = tl.zeros((PADDED, BLOCK), dtype=tl.float32)
            odd = tl.zeros((PADDED, BLOCK), dtype=tl.float32)
            for source_d in range(at_d + 1):
                for source_h in range(at_h + 1):
                    inside = is_cell & (h + source_h < height) & (d + source_d < depth)
                    x_tile = x_plane + source_d * area + source_h * width + cell
                    for c in tl.static_range(IN_CHANNELS):
                        x = tl.load(x_tile + c * volume, mask=inside, other=0.0)[None, :]
                        after = tl.load(x_tile + c * volume + 1, mask=inside & (w + 1 < width), other=0.0)[None, :]
                        tap = taps_ptr + c * 3 * PADDED + channel
                        even = tl.fma(tl.load(tap)[:, None], x, even)
                        odd = tl.fma(tl.load(tap + PADDED)[:, None], x, odd)
                        odd = tl.fma(tl.load(tap + 2 * PADDED)[:, None], after, odd)
                    taps_ptr += IN_CHANNELS * 3 * PADDED
            best = larger(best, larger(even, odd))
    is_channel = (channel < OUT_CHANNELS)[:, None]
    best += tl.load(bias_ptr + channel, mask=channel < OUT_CHANNELS, other=0.0)[:, None]
    if OUT_CHANNELS < PADDED:
        best = tl.where(is_channel, best, float("-inf"))
    shares = tl.exp(best - tl.max(best, 0)[None, :])
    factor = 1.0 / tl.sum(shares, 0)
    subtract = tl.load(subtract_ptr + channel, mask=channel < OUT_CHANNELS, other=0.0)
    left = shares * factor[None, :] - subtract[:, None]
    highest = left
    if OUT_CHANNELS < PADDED:
        highest = tl.where(is_channel, left, float("-inf"))
        left = tl.where(is_channel, left, float("inf"))
    high = tl.reduce(highest, 0, larger)
    low = tl.reduce(left, 0, smaller)
    out = larger(high * tl.sigmoid(high), low * tl.sigmoid(low))
    tl.store(out_ptr + plane.to(tl.int64) * area + cell, out, mask=is_cell)


BLOCK = 256
NUM_WARPS = 4


def kernel_function(x, conv_weight, conv_bias, subtract):
    x = x.contiguous()
    samples, in_channels, depth, height, width = x.shape
    out_channels = conv_weight.shape[1]
    padded = triton.next_power_of_2(out_channels)
    taps = torch.empty((9, in_channels, 3, padded), dtype=x.dtype, device=x.device)
    out = torch.empty((samples, depth, height, width), dtype=x.dtype, device=x.device)
    arrange_weights[(in_channels,)](
        conv_weight.contiguous(), taps, in_channels, out_channels, PADDED=padded, num_warps=1
    )
    tiles = triton.cdiv(height * width, BLOCK)
    pool_cells[(samples * depth * tiles,)](
        x, taps, conv_bias.contiguous(), subtract.contiguous(), out, tiles, depth, height, width,
        IN_CHANNELS=in_channels, OUT_CHANNELS=out_channels, PADDED=padded, BLOCK=BLOCK, num_warps=NUM_WARPS,
    )  # fmt: skip
    return out
