"""Transposed convolution as a dense product on tensor cores; the zeros between are written, not computed.

Idea: with stride 2, padding 1 and dilation 2, output 2a + 1 takes tap k from input a + 1 - k, and outputs with an even
coordinate are zero. So the odd outputs are an ordinary 3x3x3 convolution, a product with in_channels * 27 terms.
A first kernel copies x with its channels last and a border of zeros, so that every tap of every output is one
aligned vector of channels and needs no mask; the copy is read from L2. In the second kernel a program owns all
output channels of BLOCK_ROWS rows of one plane: it first writes its share of the all-zero planes, multiplies while
these drain, and then writes its rows.
A row of out has an odd number of elements, so nothing is aligned; but between two values lies a zero, so each value
with one of its zeros fills an aligned 4-byte word, whichever the row's alignment.
Must move: x and weight once, out once, mostly the writing of out; 54 * in_channels * out_channels FLOP for each
element of x, less at the border.
Serves: kernel 3, stride 2, padding 1, dilation 2, rows of up to 256 elements.
Reaches 38 % of the limit on 16x32to64x16x32x32 in bfloat16: 172 µs on an H200 (search, not benched).
"""

import torch
import triton
import triton.language as tl


@triton.jit
def write_zero_planes(out_ptr, first, last, depth, out_plane, out_size, BLOCK_ZEROS: tl.constexpr):
    """Planes of even depth, in vectors of 16 bytes; where these reach over, they reach into other zeros."""
    for number in range(first, last):
        channel = (number // (depth + 1)).to(tl.int64)
        start = channel * out_size + number % (depth + 1) * 2 * out_plane
        end = (start + out_plane + 7) // 8
        for vector in range(start // 8, end, BLOCK_ZEROS):
            lane = vector + tl.arange(0, BLOCK_ZEROS)[:, None]
            zeros = tl.zeros((BLOCK_ZEROS, 8), out_ptr.dtype.element_ty)
            tl.store(out_ptr + lane * 8 + tl.arange(0, 8)[None, :], zeros, mask=lane < end)


@triton.jit
def channels_last_kernel(
    x_ptr, weight_ptr, x_last_ptr, weight_last_ptr, out_ptr, in_channels, out_channels, depth, height, width,
    blocks, images, zeros_before, planes_each,
    PADDED_IN: tl.constexpr, PADDED_OUT: tl.constexpr, BLOCK: tl.constexpr, BLOCK_O: tl.constexpr,
    WORDS: tl.constexpr, BLOCK_ZEROS: tl.constexpr,
):  # fmt: skip
    """x as (image, depth + 2, height + 2, width + 2, PADDED_IN), weight as (27, PADDED_OUT, PADDED_IN) backwards."""
    pid = tl.program_id(0)
    if WORDS:
        last = tl.minimum((pid + 1) * planes_each, zeros_before)
        out_plane = (2 * height + 1) * (2 * width + 1)
        write_zero_planes(out_ptr, pid * planes_each, last, depth, out_plane, (2 * depth + 1) * out_plane, BLOCK_ZEROS)
    c = tl.arange(0, PADDED_IN)[None, :]
    if pid < blocks * (depth + 2) * images:
        position = pid % blocks * BLOCK + tl.arange(0, BLOCK)[:, None]
        d = pid // blocks % (depth + 2) - 1
        image = (pid // blocks // (depth + 2)).to(tl.int64)
        h = position // (width + 2) - 1
        w = position % (width + 2) - 1
        inside = (h >= 0) & (h < height) & (w >= 0) & (w < width) & (d >= 0) & (d < depth) & (c < in_channels)
        x_image = x_ptr + (image * in_channels * depth + d) * height * width
        x = tl.load(x_image + c * (depth * height * width) + h * width + w, mask=inside, other=0.0)
        plane = (height + 2) * (width + 2)
        x_last = x_last_ptr + (image * (depth + 2) + d + 1) * plane * PADDED_IN
        tl.store(x_last + position * PADDED_IN + c, x, mask=position < plane)
    else:
        part = pid - blocks * (depth + 2) * images
        tap = part % 27
        o = part // 27 * BLOCK_O + tl.arange(0, BLOCK_O)[:, None]
        inside_weight = (o < out_channels) & (c < in_channels)
        weight = tl.load(weight_ptr + (c * out_channels + o) * 27 + 26 - tap, mask=inside_weight, other=0.0)
        tl.store(weight_last_ptr + (tap * PADDED_OUT + o) * PADDED_IN + c, weight)


@triton.jit(do_not_specialize=["quarter_in"])
def conv_transpose3d_kernel(
    x_ptr, weight_ptr, out_ptr, out_channels, depth, height, width, row_tiles, zeros_before, zero_planes, planes_each,
    steps, quarter_in,
    PADDED_IN: tl.constexpr, PADDED_OUT: tl.constexpr, WORDS: tl.constexpr,
    BLOCK_O: tl.constexpr, BLOCK_ROWS: tl.constexpr, BLOCK_WIDTH: tl.constexpr, BLOCK_C: tl.constexpr,
    BLOCK_ZEROS: tl.constexpr, THROUGH_L1: tl.constexpr,
):  # fmt: skip
    out_width = 2 * width + 1
    out_plane = (2 * height + 1) * out_width
    out_size = (2 * depth + 1) * out_plane
    pid = tl.program_id(0)
    if WORDS:
        first = zeros_before + pid * planes_each
        last = tl.minimum(first + planes_each, zero_planes)
        write_zero_planes(out_ptr, first, last, depth, out_plane, out_size, BLOCK_ZEROS)

    o_tiles: tl.constexpr = PADDED_OUT // BLOCK_O
    o_first = pid % o_tiles * BLOCK_O
    tile = pid // o_tiles % row_tiles
    a = pid // o_tiles // row_tiles % depth
    image = (pid // o_tiles // row_tiles // depth).to(tl.int64)
    position = tl.arange(0, BLOCK_ROWS * BLOCK_WIDTH)
    b = tile * BLOCK_ROWS + position // BLOCK_WIDTH
    w = position % BLOCK_WIDTH
    o = o_first + tl.arange(0, BLOCK_O)
    c = tl.arange(0, BLOCK_C)
    # Positions outside read the nearest inside and are not stored.
    nearest = tl.minimum(b, height - 1) * (width + 2) + tl.minimum(w, width - 1)
    x_plane = x_ptr + (image * (depth + 2) + a) * (height + 2) * (width + 2) * PADDED_IN
    x_ptrs = x_plane + nearest[:, None] * PADDED_IN + c[None, :]
    weight_ptrs = weight_ptr + o[:, None] * PADDED_IN + c[None, :]
    PARTS: tl.constexpr = PADDED_IN // BLOCK_C
    acc = tl.zeros((BLOCK_O, BLOCK_ROWS * BLOCK_WIDTH), tl.float32)
    for step in range(steps):  # 27 * PARTS, unknown to the compiler, which would unroll it
        tap = step // PARTS
        shift = (tap // 9 * (height + 2) + tap // 3 % 3) * (width + 2) + tap % 3
        if THROUGH_L1:
            # Asynchronous copies of 16 bytes pass L1 by, those of 8 do not; so it is told of multiples of 4 only.
            x = tl.load(x_ptrs + (shift * quarter_in + step % PARTS * (BLOCK_C // 4)) * 4)
        else:
            x = tl.load(x_ptrs + shift * PADDED_IN + step % PARTS * BLOCK_C)
        weight = tl.load(weight_ptrs + tap * (PADDED_OUT * PADDED_IN) + step % PARTS * BLOCK_C)
        acc = tl.dot(weight, tl.trans(x), acc, input_precision="ieee")

    inside = (o < out_channels)[:, None] & (b < height)[None, :] & (w < width)[None, :]
    value = acc.to(out_ptr.dtype.element_ty)
    # Row 1 of the plane, whose elements 1, 3, 5, … are values; the other odd rows follow at steps of 2 * out_width.
    row_1 = image * out_channels * out_size + (2 * a + 1) * out_plane + out_width
    if WORDS:
        half = (row_1 & 1).to(tl.int32)
        from_row = o * out_size + half  # in elements, from an even one
        low = (from_row & 1 == 1)[:, None]  # whether a value comes before the zero that shares its word
        words = out_ptr.to(tl.pointer_type(tl.int32), bitcast=True) + (row_1 >> 1)
        to_row = (from_row + 1) >> 1
        first = words + (to_row[:, None] + (b * out_width + w)[None, :])
        bits = value.to(tl.int16, bitcast=True).to(tl.int32) & 0xFFFF
        tl.store(first, tl.where(low, bits, bits << 16), mask=inside)
        # The rest of the row and all of the next: width + 1 words.
        tl.store(first + width, tl.zeros_like(bits), mask=inside)
        row = tile * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
        last = words + (to_row[:, None] + (row * out_width + 2 * width)[None, :])
        inside_rows = (o < out_channels)[:, None] & (row < height)[None, :]
        tl.store(last, tl.zeros((BLOCK_O, BLOCK_ROWS), tl.int32), mask=inside_rows)
        if tile == 0:  # row 0
            lane = tl.arange(0, 2 * BLOCK_WIDTH)[None, :]
            before = words + (to_row[:, None] + lane - (width + 1))
            inside_row = (o < out_channels)[:, None] & (lane <= width)
            tl.store(before, tl.zeros((BLOCK_O, 2 * BLOCK_WIDTH), tl.int32), mask=inside_row)
    else:
        tl.store(
            out_ptr + row_1 + (o * out_size)[:, None] + (2 * b * out_width + 2 * w + 1)[None, :], value, mask=inside
        )


BLOCK_POSITIONS = 64
WARPS = 4
STAGES = 5
REGISTERS = None
THROUGH_L1 = 0
ZEROS_BEFORE_16THS = 0
BLOCK_ZEROS = 256
BLOCK_COPY = 128


class ModelNew(torch.nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, dilation):
        super().__init__()
        if (kernel_size, stride, padding, dilation) != (3, 2, 1, 2):
            raise ValueError("serves only kernel size 3, stride 2, padding 1 and dilation 2")
        self.conv = torch.nn.ConvTranspose3d(
            in_channels, out_channels, kernel_size, stride=stride, padding=padding, dilation=dilation, bias=False
        )

    def forward(self, x):
        x = x.contiguous()
        weight = self.conv.weight.contiguous()
        batch, in_channels, depth, height, width = x.shape
        out_channels = weight.shape[1]
        out_shape = (batch, out_channels, 2 * depth + 1, 2 * height + 1, 2 * width + 1)
        # Words and vectors need 2-byte elements, whole vectors in all, and rows longer than a vector.
        words = x.element_size() == 2 and batch * out_channels % 8 == 0 and width >= 4
        if words:
            out = torch.empty(out_shape, dtype=x.dtype, device=x.device)
        else:
            out = torch.zeros(out_shape, dtype=x.dtype, device=x.device)
        block_c, block_o = 32, 64
        padded_in = max(triton.next_power_of_2(in_channels), block_c)
        padded_out = triton.cdiv(out_channels, block_o) * block_o
        x_last = torch.empty((batch, depth + 2, height + 2, width + 2, padded_in), dtype=x.dtype, device=x.device)
        weight_last = torch.empty((27, padded_out, padded_in), dtype=x.dtype, device=x.device)
        blocks = triton.cdiv((height + 2) * (width + 2), BLOCK_COPY)
        copies = blocks * (depth + 2) * batch + 27 * (padded_out // block_o)
        zero_planes = batch * out_channels * (depth + 1)
        zeros_before = zero_planes * ZEROS_BEFORE_16THS // 16
        channels_last_kernel[(copies,)](
            x, weight, x_last, weight_last, out, in_channels, out_channels, depth, height, width,
            blocks, batch, zeros_before, triton.cdiv(zeros_before, copies),
            PADDED_IN=padded_in, PADDED_OUT=padded_out, BLOCK=BLOCK_COPY, BLOCK_O=block_o,
            WORDS=words, BLOCK_ZEROS=BLOCK_ZEROS, num_warps=4,
        )  # fmt: skip
        block_width = triton.next_power_of_2(width)
        if block_width > 256:
            raise ValueError("serves only rows of up to 256 elements: a program holds whole ones")
        block_positions = max(BLOCK_POSITIONS if x.element_size() == 2 else 64, block_width)
        block_rows = block_positions // block_width
        row_tiles = triton.cdiv(height, block_rows)
        programs = row_tiles * depth * batch * (padded_out // block_o)
        conv_transpose3d_kernel[(programs,)](
            x_last, weight_last, out, out_channels, depth, height, width, row_tiles,
            zeros_before, zero_planes, triton.cdiv(zero_planes - zeros_before, programs),
            27 * (padded_in // block_c), padded_in // 4,
            PADDED_IN=padded_in, PADDED_OUT=padded_out, WORDS=words,
            BLOCK_O=block_o, BLOCK_ROWS=block_rows, BLOCK_WIDTH=block_width, BLOCK_C=block_c,
            BLOCK_ZEROS=BLOCK_ZEROS, THROUGH_L1=THROUGH_L1,
            num_warps=max(WARPS, block_positions // 32), num_stages=STAGES, maxnreg=REGISTERS,
        )  # fmt: skip
        return out
