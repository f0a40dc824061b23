# conv_transpose_average, trial 6, round 2: improve of 3, by mailbox:assistant
# passed: 77.47 µs in the search
# confirmation passed: 77.75 µs
# library: no library step; LIBRARY = 'finish'
# on NVIDIA H200; torch 2.11.0+cu130, Triton 3.6.0

"""A transposed convolution averaged over cells of 2 x 2 x 2: a convolution with windows of 2 x 2 x 2, exact on CUDA cores.

Idea: output o of the transposed convolution reads input i with element k where o + 1 = 2 i + k, so that outputs 2 d and
2 d + 1 read inputs d (elements 1 and 2) and d + 1 (element 0). The average is linear: a first kernel adds up the weights
that meet the same input, and 8 inputs of 3 channels make a cell. All 16 output channels of a cell are in one thread, so that a
number of x serves 16 sums and a weight the thread's cells; 384 products a cell need no tensor cores, which would need
three products each and padding.
Must move: x once and out once.
Serves: window 3, stride 2, padding 1, float32.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def add_up_weights(
    weight_ptr, bias_ptr, scale_ptr, added_ptr, taps_ptr, in_channels, out_channels, PADDED: tl.constexpr
):  # fmt: skip
    """taps: 8 rows (d, h, w of the input) for each input channel, of PADDED weights, then a row of what is added to a sum."""
    row = tl.program_id(0) * 8 + tl.arange(0, 8)[:, None]
    channel = tl.arange(0, PADDED)[None, :]
    is_channel = channel < out_channels
    scale = tl.load(scale_ptr)
    total = tl.zeros((8, PADDED), dtype=tl.float32)
    for place in tl.static_range(8):
        # Element 0 of the window where the input is the second one, elements 1 and 2 where it is the first.
        d = tl.where((row >> 2) & 1 == 0, 1 + (place >> 2), 0)
        h = tl.where((row >> 1) & 1 == 0, 1 + (place >> 1) % 2, 0)
        w = tl.where(row & 1 == 0, 1 + place % 2, 0)
        is_used = (row < in_channels * 8) & (row & place == 0) & is_channel
        element = ((row >> 3) * out_channels + channel) * 27 + d * 9 + h * 3 + w
        total += tl.load(weight_ptr + element, mask=is_used, other=0.0)
    added = tl.load(bias_ptr + channel, mask=is_channel, other=0.0) * scale
    added += tl.load(added_ptr + channel, mask=is_channel, other=0.0)
    total = tl.where(row < in_channels * 8, total * (scale * 0.125), added)
    tl.store(taps_ptr + row * PADDED + channel, total, mask=row <= in_channels * 8)


@triton.jit
def convolve(
    x_ptr, taps_ptr, scale_ptr, out_ptr, tiles, cells, input_depth, IN_CHANNELS: tl.constexpr, OUT_CHANNELS: tl.constexpr,
    PADDED: tl.constexpr, INPUT_HEIGHT: tl.constexpr, INPUT_WIDTH: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    sample = (tl.program_id(0) // tiles).to(tl.int64)
    cell = tl.program_id(0) % tiles * BLOCK + tl.arange(0, BLOCK)
    is_cell = cell < cells
    plane: tl.constexpr = (INPUT_HEIGHT - 1) * (INPUT_WIDTH - 1)
    d = cell // plane
    h = cell % plane // (INPUT_WIDTH - 1)
    w = cell % (INPUT_WIDTH - 1)
    volume = input_depth * INPUT_HEIGHT * INPUT_WIDTH
    x_tile = x_ptr + sample * IN_CHANNELS * volume + (d * INPUT_HEIGHT + h) * INPUT_WIDTH + w
    channel = tl.arange(0, PADDED)
    total = tl.zeros((PADDED, BLOCK), dtype=tl.float32) + tl.load(taps_ptr + IN_CHANNELS * 8 * PADDED + channel)[:, None]
    for _ in range(IN_CHANNELS):
        for tap in tl.static_range(8):
            offset = ((tap >> 2) * INPUT_HEIGHT + (tap >> 1) % 2) * INPUT_WIDTH + tap % 2
            x = tl.load(x_tile + offset, mask=is_cell, other=0.0)
            total = tl.fma(tl.load(taps_ptr + tap * PADDED + channel)[:, None], x[None, :], total)
        x_tile += volume
        taps_ptr += 8 * PADDED
    out = out_ptr + sample * OUT_CHANNELS * cells + channel[:, None] * cells + cell[None, :]
    tl.store(out, total * tl.load(scale_ptr), mask=is_cell[None, :] & (channel < OUT_CHANNELS)[:, None])


BLOCK = 256
NUM_WARPS = 4


def kernel_function(x, conv_weight, conv_bias, scale1, bias, scale2):
    x = x.contiguous()
    samples, in_channels, depth, height, width = x.shape
    out_channels = conv_weight.shape[1]
    padded = triton.next_power_of_2(out_channels)
    taps = torch.empty((in_channels * 8 + 1, padded), dtype=x.dtype, device=x.device)
    out = torch.empty((samples, out_channels, depth - 1, height - 1, width - 1), dtype=x.dtype, device=x.device)
    add_up_weights[(in_channels + 1,)](
        conv_weight.contiguous(), conv_bias.contiguous(), scale1, bias.contiguous(), taps,
        in_channels, out_channels, PADDED=padded, num_warps=4,
    )  # fmt: skip
    cells = (depth - 1) * (height - 1) * (width - 1)
    tiles = triton.cdiv(cells, BLOCK)
    convolve[(samples * tiles,)](
        x, taps, scale2, out, tiles, cells, depth, IN_CHANNELS=in_channels, OUT_CHANNELS=out_channels, PADDED=padded,
        INPUT_HEIGHT=height, INPUT_WIDTH=width, BLOCK=BLOCK, num_warps=NUM_WARPS,
    )  # fmt: skip
    return out
