# conv_transpose_pool_softmax, trial 3, round 1: improve of 2, by mailbox:assistant
# passed: 501.5 µs in the search
# confirmation passed: 503.8 µs
# library: no library step; LIBRARY = 'finish'
# on NVIDIA H200; torch 2.11.0+cu130, Triton 3.6.0

"""A transposed convolution, max-pooling, softmax over channels and swish; only the last maximum is stored.

Idea: with a stride of 2 and windows of 3, the 2 x 2 x 2 outputs of a cell read the same 2 x 2 x 2 inputs of three
channels, and a cell is one window of the pooling. A program loads these 24 numbers of its cells once, as the rows of a
matrix, multiplies it by one small matrix for each of the eight places in a cell, and keeps the maxima in registers.
Must move: x once, out once.
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
def element(phase, step):
    # The element of the window with which an output of this phase reads the cell's first or second input; -1: none.
    return tl.where(phase == 0, tl.where(step == 0, 1, -1), tl.where(step == 0, 2, 0))


# The weights of each phase: its channels, and for each 3 x 2 x 2 x 2 inputs of a cell; the high parts, then the low ones.
@triton.jit
def arrange_weights(w_ptr, parts_ptr, channels, BLOCK_C: tl.constexpr):
    phase = tl.program_id(0)
    channel = tl.arange(0, BLOCK_C)[:, None]
    depth = tl.arange(0, 32)[None, :]
    kd = element(phase // 4, depth // 4 % 2)
    kh = element(phase // 2 % 2, depth // 2 % 2)
    kw = element(phase % 2, depth % 2)
    is_read = (channel < channels) & (depth < 24) & (kd >= 0) & (kh >= 0) & (kw >= 0)
    w = tl.load(w_ptr + ((depth // 8 * channels + channel) * 27 + kd * 9 + kh * 3 + kw), mask=is_read, other=0.0)
    high, low = high_and_low(w)
    place = parts_ptr + (phase * BLOCK_C + channel) * 32 + depth
    tl.store(place, high)
    tl.store(place + 8 * BLOCK_C * 32, low)


@triton.jit
def read_cells(x_ptr, cell, batch, depth, height, width):
    # The 24 inputs of each cell, with zeros up to 32 and beyond the input.
    w, h = cell % width, cell // width % height
    d, b = cell // (width * height) % depth, cell // (width * height * depth)
    place = tl.arange(0, 32)
    dd, dh, dw = place // 4 % 2, place // 2 % 2, place % 2
    first = ((b * 3 * depth + d) * height + h) * width + w
    step = ((place // 8 * depth + dd) * height + dh) * width + dw
    is_inside = (d[:, None] + dd[None, :] < depth) & (h[:, None] + dh[None, :] < height)
    is_inside = is_inside & (w[:, None] + dw[None, :] < width) & (place < 24)[None, :] & (b < batch)[:, None]
    return tl.load(x_ptr + (first[:, None] + step[None, :]), mask=is_inside, other=0.0)


@triton.jit
def one_phase(high, low, parts_ptr, phase, BLOCK_C: tl.constexpr):
    # The convolution's sums for the outputs of a phase, one for each cell.
    place = (phase * BLOCK_C + tl.arange(0, BLOCK_C)[None, :]) * 32 + tl.arange(0, 32)[:, None]
    w_high = tl.load(parts_ptr + place)
    w_low = tl.load(parts_ptr + 8 * BLOCK_C * 32 + place)
    # Infinity times the zeros of inputs that the phase does not read would be NaN.
    step = tl.arange(0, 32)
    is_read = (element(phase // 4, step // 4 % 2) >= 0) & (element(phase // 2 % 2, step // 2 % 2) >= 0)
    is_read = is_read & (element(phase % 2, step % 2) >= 0)
    high = tl.where(is_read[None, :], high, 0.0)
    part = tl.dot(low, w_high, input_precision="tf32")
    part = tl.dot(high, w_low, part, input_precision="tf32")
    part = tl.where(part == part, part, 0.0)
    return tl.dot(high, w_high, part, input_precision="tf32")


@triton.jit
def pooled_cells(
    x_ptr, parts_ptr, conv_bias_ptr, subtract_ptr, out_ptr, batch, channels, depth, height, width,
    BLOCK_C: tl.constexpr, BLOCK_CELLS: tl.constexpr,
):
    cell = tl.program_id(0) * BLOCK_CELLS + tl.arange(0, BLOCK_CELLS)
    high, low = high_and_low(read_cells(x_ptr, cell, batch, depth, height, width))
    channel = tl.arange(0, BLOCK_C)
    is_channel = channel < channels
    most = one_phase(high, low, parts_ptr, 0, BLOCK_C)
    for phase in tl.static_range(1, 8):
        found = one_phase(high, low, parts_ptr, phase, BLOCK_C)
        most = tl.maximum(most, found, propagate_nan=tl.PropagateNan.ALL)
    most += tl.load(conv_bias_ptr + channel, mask=is_channel, other=0.0)[None, :]
    most = tl.where(is_channel[None, :], most, float("-inf"))  # where zeros of the matrix met infinity, it is NaN
    powers = tl.exp(most - tl.max(most, axis=1)[:, None])
    y = powers / tl.sum(powers, axis=1)[:, None] - tl.load(subtract_ptr + channel, mask=is_channel, other=0.0)[None, :]
    y = tl.where(is_channel[None, :], tl.sigmoid(y) * y, float("-inf"))
    largest = tl.max(y, axis=1)
    is_any_nan = tl.sum((y != y).to(tl.int32), axis=1) > 0
    tl.store(out_ptr + cell, tl.where(is_any_nan, float("nan"), largest), mask=cell < batch * depth * height * width)


BLOCK_CELLS = 128
NUM_WARPS = 8


def kernel_function(x, conv_weight, conv_bias, subtract):
    x = x.contiguous()
    batch, channels_in, depth, height, width = x.shape
    channels = conv_weight.shape[1]
    block_c = max(16, triton.next_power_of_2(channels))
    parts = torch.empty((2, 8, block_c, 32), dtype=torch.float32, device=x.device)
    arrange_weights[(8,)](conv_weight.contiguous(), parts, channels, BLOCK_C=block_c)
    out = torch.empty((batch, depth, height, width), dtype=torch.float32, device=x.device)
    pooled_cells[(triton.cdiv(batch * depth * height * width, BLOCK_CELLS),)](
        x, parts, conv_bias, subtract, out, batch, channels, depth, height, width, BLOCK_C=block_c,
        BLOCK_CELLS=BLOCK_CELLS, num_warps=NUM_WARPS,
    )
    return out
