# conv_transpose_max_pool, trial 3, round 1: improve of 0, by mailbox:assistant
# passed: 264.9 µs in the search
# confirmation passed: 265.7 µs
# library: no library step; LIBRARY = 'finish'
# on NVIDIA H200; torch 2.11.0+cu130, Triton 3.6.0

"""A transposed convolution in 3D, a multiplier between two leaky ReLUs, and max-pooling: one cell of outputs at a time.

Idea: output o reads input i through element k of the window where o + 1 = 2 * i + k. So the 2 x 2 x 2 outputs of a cell of
the pooling read the inputs at the cell and at its next neighbours only: 27 pairs of one of 8 outputs and one of 8
inputs. A program has BLOCK_M cells, loads the 8 tiles of inputs (16 channels) once, and computes the 8 outputs one after
the other, of which the largest remains; the convolution's output, eight times as large, is never stored. A first kernel
sorts the weights by window element and splits them into the parts that tensor cores multiply.
Must move: x and the weights once, out once.
Serves: kernel 3, stride 2, padding 1, output padding 1.
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
def split_weights(
    weight_ptr, parts_ptr, in_channels, out_channels, numel, IN: tl.constexpr, OUT: tl.constexpr, WIDTH: tl.constexpr
):  # fmt: skip
    """From (input channel, output channel, element) to (element, output channel, input channel), in two parts and with
    zeros up to IN and OUT channels."""
    index = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    mask = index < numel
    channel, out_channel, element = index % IN, index // IN % OUT, index // (IN * OUT)
    present = mask & (channel < in_channels) & (out_channel < out_channels)
    weight = tl.load(weight_ptr + (channel * out_channels + out_channel) * 27 + element, mask=present, other=0.0)
    high, low = high_and_low(weight)
    tl.store(parts_ptr + index, high, mask=mask)
    tl.store(parts_ptr + numel + index, low, mask=mask)


@triton.jit
def activated(total, bias, multiplier):
    x = total + bias
    x = tl.where(x > 0.0, x, x * 0.2) * multiplier
    return tl.where(x > 0.0, x, x * 0.2)


@triton.jit
def larger(x, y):
    return tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def cells_of_outputs(
    x_ptr, parts_ptr, bias_ptr, multiplier_ptr, out_ptr, in_channels, out_channels,
    depth, height, width, blocks,
    IN: tl.constexpr, OUT: tl.constexpr, BLOCK_M: tl.constexpr,
):  # fmt: skip
    size = depth * height * width
    sample = (tl.program_id(0) // blocks).to(tl.int64)
    cell = tl.program_id(0) % blocks * BLOCK_M + tl.arange(0, BLOCK_M)
    inside = cell < size
    next_w = cell % width + 1 < width
    next_h = cell // width % height + 1 < height
    next_d = inside & (cell // width // height + 1 < depth)
    channel = tl.arange(0, IN)
    out_channel = tl.arange(0, OUT)
    bias = tl.load(bias_ptr + out_channel, mask=out_channel < out_channels, other=0.0)[None, :]
    has_channel = out_channel < out_channels
    multiplier = tl.load(multiplier_ptr + out_channel, mask=has_channel, other=0.0)[None, :]
    part_of = parts_ptr + (channel[:, None] + out_channel[None, :] * IN)
    SIZE: tl.constexpr = IN * OUT
    has_input = (channel < in_channels)[None, :]
    x_cells = x_ptr + sample * size * in_channels + (cell[:, None] + channel[None, :] * size)
    largest = tl.full((BLOCK_M, OUT), float("-inf"), dtype=tl.float32)
    total = tl.zeros((BLOCK_M, OUT), dtype=tl.float32)
    # The bits of `place` (an output of the cell) and `tile` (an input, of the same steps or fewer) are the steps in
    # depth, height and width. In each direction output 0 has element 1 of the window, output 1 element 2 for the cell's
    # own input and element 0 for the next one. All inputs of an output follow one another, the cell's own last.
    place = 0
    tile = 0
    for _ in range(27):
        in_d, in_h, in_w = tile // 4, tile // 2 % 2, tile % 2
        element = (1 + place // 4 - in_d * 2) * 9 + (1 + place // 2 % 2 - in_h * 2) * 3 + (1 + place % 2 - in_w * 2)
        present = inside & (next_d | (in_d == 0)) & (next_h | (in_h == 0)) & (next_w | (in_w == 0))
        at_tile = x_cells + ((in_d * height + in_h) * width + in_w)
        x = tl.load(at_tile, mask=present[:, None] & has_input, other=0.0)
        b = tl.load(part_of + element * SIZE)
        b_low = tl.load(part_of + (element + 27) * SIZE)
        high, low = high_and_low(x)
        part = tl.dot(low, b, input_precision="tf32")
        part = tl.dot(high, b_low, part, input_precision="tf32")
        part = tl.where(part == part, part, 0.0)  # zero times infinity must not count
        total += tl.dot(high, b, part, input_precision="tf32")
        if tile == 0:
            largest = larger(largest, activated(total, bias, multiplier))
            total = tl.zeros((BLOCK_M, OUT), dtype=tl.float32)
            place += 1
            tile = place
        else:
            tile = (tile - 1) & place
    out = out_ptr + sample * size * out_channels + (cell[:, None] + out_channel[None, :] * size)
    tl.store(out, largest, mask=inside[:, None] & has_channel[None, :])


BLOCK_M = 128
NUM_WARPS = 8
NUM_STAGES = 3


def kernel_function(x, conv_transpose_weight, conv_transpose_bias, multiplier):
    x = x.contiguous()
    weight = conv_transpose_weight.contiguous()
    batch, in_channels, depth, height, width = x.shape
    out_channels = weight.shape[1]
    padded_in = max(triton.next_power_of_2(in_channels), 16)
    padded_out = max(triton.next_power_of_2(out_channels), 16)
    numel = 27 * padded_in * padded_out
    parts = torch.empty((2, numel), dtype=x.dtype, device=x.device)
    split_weights[(triton.cdiv(numel, 256),)](
        weight, parts, in_channels, out_channels, numel, IN=padded_in, OUT=padded_out, WIDTH=256, num_warps=4
    )  # fmt: skip
    out = torch.empty((batch, out_channels, depth, height, width), dtype=x.dtype, device=x.device)
    blocks = triton.cdiv(depth * height * width, BLOCK_M)
    cells_of_outputs[(batch * blocks,)](
        x, parts, conv_transpose_bias.contiguous(), multiplier.contiguous(), out, in_channels, out_channels,
        depth, height, width, blocks, IN=padded_in, OUT=padded_out, BLOCK_M=BLOCK_M,
        num_warps=NUM_WARPS, num_stages=NUM_STAGES,
    )  # fmt: skip
    return out
