# conv_transpose_grouped, trial 4, round 1: tune of 3, by builtin
# passed: 355.0 µs in the search
# confirmation passed: 356.3 µs
# library: no library step; LIBRARY = 'finish'
# on NVIDIA H200; torch 2.11.0+cu130, Triton 3.6.0
# config: BLOCK_M=128, NUM_WARPS=1, channels_last.num_warps=4, transposed_convolution.num_stages=2

"""A transposed convolution in 3D with groups and stride 2, in exact float32: a pair of outputs from four shared inputs.

Idea: with 8 channels for each group the tiles of tensor cores would be half empty or hold zeros, which an infinity turns into
NaN. So this adds products of float32. A program has one depth of the output, the rows of one parity, and BLOCK_M cells of
two outputs along a row. Output o reads input i through element k where o + padding = 2 * i + k: only every second element
serves an output, and the two outputs of a cell use the four inputs around it with 3 and with 4 of the 7 elements. So a
thread makes 56 products with 4 inputs and 56 weights, which serve all of its cells. A first kernel puts the output
channels last in the weights, for vectors of four.
Must move: x and the weights once, out once.
Serves: kernel 3 x 5 x 7, stride 2, padding 1 x 2 x 3, output padding 1, 4 groups, no bias.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def channels_last(weight_ptr, last_ptr, numel, out_channels, OUT: tl.constexpr, WIDTH: tl.constexpr):
    """From (input channel, output channel, 105) to (input channel, 105, output channel), with zeros up to OUT."""
    index = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    mask = index < numel
    out_channel, element, channel = index % OUT, index // OUT % 105, index // (105 * OUT)
    place = (channel * out_channels + out_channel) * 105 + element
    weight = tl.load(weight_ptr + place, mask=mask & (out_channel < out_channels), other=0.0)
    tl.store(last_ptr + index, weight, mask=mask)


@triton.jit
def transposed_convolution(
    x_ptr, weight_ptr, out_ptr, in_channels, out_channels, groups, depth, height, width, blocks,
    OUT: tl.constexpr, BLOCK_M: tl.constexpr,
):  # fmt: skip
    """in_channels, out_channels: of a group."""
    pid = tl.program_id(0)
    odd_row = pid // blocks % 2
    out_d = pid // (2 * blocks) % (2 * depth)
    group_of_sample = (pid // (4 * blocks * depth)).to(tl.int64)
    cell = pid % blocks * BLOCK_M + tl.arange(0, BLOCK_M)
    area = height * width
    h, w = cell // width, cell % width
    inside = cell < area
    out_channel = tl.arange(0, OUT)
    x_group = x_ptr + group_of_sample * in_channels * depth * area
    weight_group = weight_ptr + group_of_sample % groups * in_channels * (105 * OUT) + out_channel
    even = tl.zeros((OUT, BLOCK_M), dtype=tl.float32)
    odd = tl.zeros((OUT, BLOCK_M), dtype=tl.float32)
    for k_d in range((out_d + 1) % 2, 3, 2):
        in_d = (out_d + 1 - k_d) // 2
        if in_d < depth:
            for k_h in range(odd_row, 5, 2):
                in_h = h + (odd_row + 2 - k_h) // 2
                row = inside & (in_h >= 0) & (in_h < height)
                x_row = x_group + in_d * area + (in_h * width + w)
                weight_row = weight_group + (k_d * 5 + k_h) * (7 * OUT)
                for _ in range(0, in_channels):
                    x0 = tl.load(x_row - 1, mask=row & (w >= 1), other=0.0)[None, :]
                    x1 = tl.load(x_row, mask=row, other=0.0)[None, :]
                    x2 = tl.load(x_row + 1, mask=row & (w + 1 < width), other=0.0)[None, :]
                    x3 = tl.load(x_row + 2, mask=row & (w + 2 < width), other=0.0)[None, :]
                    even += tl.load(weight_row + 1 * OUT)[:, None] * x2
                    even += tl.load(weight_row + 3 * OUT)[:, None] * x1
                    even += tl.load(weight_row + 5 * OUT)[:, None] * x0
                    odd += tl.load(weight_row)[:, None] * x3
                    odd += tl.load(weight_row + 2 * OUT)[:, None] * x2
                    odd += tl.load(weight_row + 4 * OUT)[:, None] * x1
                    odd += tl.load(weight_row + 6 * OUT)[:, None] * x0
                    x_row += depth * area
                    weight_row += 105 * OUT
    pair = tl.reshape(tl.join(even, odd), (OUT, 2 * BLOCK_M))
    column = tl.arange(0, 2 * BLOCK_M)
    at_cell = pid % blocks * BLOCK_M + column // 2
    at = (2 * (at_cell // width) + odd_row) * (2 * width) + 2 * (at_cell % width) + column % 2
    out_plane = out_ptr + (group_of_sample * out_channels * 2 * depth + out_d) * (4 * area)
    out = out_plane + (out_channel[:, None] * (8 * depth * area) + at[None, :])
    tl.store(out, pair, mask=(out_channel < out_channels)[:, None] & (at_cell < area)[None, :])


BLOCK_M = 128
NUM_WARPS = 1


def kernel_function(x, conv_weight):
    x = x.contiguous()
    batch, all_channels, depth, height, width = x.shape
    out_channels = conv_weight.shape[1]
    groups = 4
    padded = triton.next_power_of_2(out_channels)
    numel = all_channels * 105 * padded
    last = torch.empty((numel,), dtype=x.dtype, device=x.device)
    channels_last[(triton.cdiv(numel, 256),)](
        conv_weight.contiguous(), last, numel, out_channels, OUT=padded, WIDTH=256, num_warps=4
    )  # fmt: skip
    out = torch.empty(
        (batch, groups * out_channels, 2 * depth, 2 * height, 2 * width), dtype=x.dtype, device=x.device
    )  # fmt: skip
    blocks = triton.cdiv(height * width, BLOCK_M)
    transposed_convolution[(batch * groups * 2 * depth * 2 * blocks,)](
        x, last, out, all_channels // groups, out_channels, groups, depth, height, width, blocks,
        OUT=padded, BLOCK_M=BLOCK_M, num_warps=NUM_WARPS, num_stages=2,
    )  # fmt: skip
    return out
