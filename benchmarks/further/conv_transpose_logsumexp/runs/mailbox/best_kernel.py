# conv_transpose_logsumexp, trial 7, round 2: tune of 6, by builtin
# passed: 329.3 µs in the search
# confirmation passed: 332.6 µs
# library: no library step; LIBRARY = 'finish'
# on NVIDIA H200; torch 2.11.0+cu130, Triton 3.6.0
# config: BLOCK=512, NUM_WARPS=4, logsumexp_cells.num_stages=3

"""A transposed convolution and the logsumexp of its channels, in threads that have all channels of a cell's outputs.

Idea: output o of the transposed convolution reads input i with element k where o + 1 = 2 i + k, so that the cell of
outputs (2 d, 2 d + 1) x ... reads inputs d, d + 1 (x h, h + 1; x w, w + 1) only. A thread has all channels of two outputs
along w and their logsumexp in registers, exact on CUDA cores: 27 x 3 x 16 products for eight outputs, where tensor cores
would need three times as many for parts and 2.4 times for zeros, and exchange channels between lanes. A first kernel puts
the weights in the order of their use, all output channels of a row adjacent.
Must move: x once and one number for each output.
Serves: window 3, stride 2, padding 1, no output padding, float32.
"""

import torch
import triton
import triton.language as tl


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
def finished(x, conv_bias, is_channel, bias):
    """The logsumexp of each column, and what follows."""
    x = tl.where(is_channel, x + conv_bias, float("-inf"))
    most = tl.max(x, 0)
    most = tl.where(tl.abs(most) == float("inf"), 0.0, most)
    y = tl.log(tl.sum(tl.exp(x - most[None, :]), 0)) + most
    y = y * tl.sigmoid(y + 3.0) / 6.0 - bias
    return tl.clamp(y, -1.0, 1.0, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def logsumexp_cells(
    x_ptr, taps_ptr, conv_bias_ptr, bias_ptr, out_ptr, tiles, depth, height, width,
    IN_CHANNELS: tl.constexpr, OUT_CHANNELS: tl.constexpr, PADDED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    plane = tl.program_id(0) // tiles
    sample, d = (plane // depth).to(tl.int64), plane % depth
    area = height * width
    volume = depth * area
    cell = tl.program_id(0) % tiles * BLOCK + tl.arange(0, BLOCK)
    is_cell = cell < area
    h = cell // width
    w = cell % width
    x_plane = x_ptr + sample * IN_CHANNELS * volume + d * area
    channel = tl.arange(0, PADDED)
    is_channel = (channel < OUT_CHANNELS)[:, None]
    conv_bias = tl.load(conv_bias_ptr + channel, mask=channel < OUT_CHANNELS, other=0.0)[:, None]
    bias = tl.load(bias_ptr)
    wide, high = 2 * width - 1, 2 * height - 1
    out_sample = out_ptr + sample * (2 * depth - 1) * high * wide
    for at_d in range(2):
        if 2 * d + at_d < 2 * depth - 1:
            for at_h in range(2):
                even = tl.zeros((PADDED, BLOCK), dtype=tl.float32)
                odd = tl.zeros((PADDED, BLOCK), dtype=tl.float32)
                for source_d in range(at_d + 1):
                    for source_h in range(at_h + 1):
                        inside = is_cell & (h + source_h < height)
                        x_tile = x_plane + source_d * area + source_h * width + cell
                        for c in tl.static_range(IN_CHANNELS):
                            x = tl.load(x_tile + c * volume, mask=inside, other=0.0)[None, :]
                            after = tl.load(x_tile + c * volume + 1, mask=inside & (w + 1 < width), other=0.0)[None, :]
                            tap = taps_ptr + c * 3 * PADDED + channel
                            even = tl.fma(tl.load(tap)[:, None], x, even)
                            odd = tl.fma(tl.load(tap + PADDED)[:, None], x, odd)
                            odd = tl.fma(tl.load(tap + 2 * PADDED)[:, None], after, odd)
                        taps_ptr += IN_CHANNELS * 3 * PADDED
                out = out_sample + ((2 * d + at_d) * high + 2 * h + at_h) * wide + 2 * w
                inside = is_cell & (2 * h + at_h < high)
                tl.store(out, finished(even, conv_bias, is_channel, bias), mask=inside)
                tl.store(out + 1, finished(odd, conv_bias, is_channel, bias), mask=inside & (2 * w + 1 < wide))


BLOCK = 512
NUM_WARPS = 4


def kernel_function(x, conv_weight, conv_bias, bias):
    x = x.contiguous()
    samples, in_channels, depth, height, width = x.shape
    out_channels = conv_weight.shape[1]
    padded = triton.next_power_of_2(out_channels)
    taps = torch.empty((9, in_channels, 3, padded), dtype=x.dtype, device=x.device)
    out = torch.empty((samples, 1, 2 * depth - 1, 2 * height - 1, 2 * width - 1), dtype=x.dtype, device=x.device)
    arrange_weights[(in_channels,)](
        conv_weight.contiguous(), taps, in_channels, out_channels, PADDED=padded, num_warps=1
    )
    tiles = triton.cdiv(height * width, BLOCK)
    logsumexp_cells[(samples * depth * tiles,)](
        x, taps, conv_bias.contiguous(), bias, out, tiles, depth, height, width,
        IN_CHANNELS=in_channels, OUT_CHANNELS=out_channels, PADDED=padded, BLOCK=BLOCK, num_warps=NUM_WARPS,
    )  # fmt: skip
    return out
