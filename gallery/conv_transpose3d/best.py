"""Transposed convolution as a dense product that marches through planes and writes all of out itself.

Idea: with stride 2, padding 1 and dilation 2, output 2a + 1 takes tap k from input a + 1 - k, and outputs with an even
coordinate are zero. So the odd outputs are an ordinary 3x3x3 convolution. A first kernel copies x with its channels
last; the copy engine then fetches boxes of it, shifted by a tap, and fills in the zeros beyond the borders.
In the second kernel a program keeps all 27 taps of its output channels in shared memory and marches through the planes
of two rows of x: a plane of x belongs to three planes of out, whose sums wait in registers. Positions are the tall side
of the product, and a box of four rows goes to registers, which is where its three windows of two rows are put together:
all taps of rows and planes share a fetch, and a program fetches x 6 times and not 9. With 32 output channels it takes
82 KB with a box under way, so two share a multiprocessor, and one writes while the other multiplies.
The compiler waits for every product it has begun, so these are few and large: two of the three planes stand side by
side in one sum twice as wide, and of the 9 taps of a plane 8 are the terms of one product. There are 4 to wait for in a
step, where one for every fetch and plane would be 18.
There is no compact copy and no third kernel: a row of out has an odd number of elements, so nothing is aligned, but
between two values lies a zero, and a value with one of its zeros fills an aligned word of two elements. Neighbouring
lanes write neighbouring words. The planes between, all zeros, go in vectors of 16 bytes.
Must move: x and weight once, out once, mostly the writing of out; 54 * in_channels * out_channels FLOP for each
element of x, less at the border.
Float32 has no tensor cores (every product is exact) and takes another way, with two kernels. One writes the zeros of
out, x with a border of zeros, and the weight with its output channels last. In the other each thread sums 4 positions
for 4 output channels, which is what a product needs to be more than loads from shared memory; a tile so small keeps
only one warp busy, so GROUPS tiles of different input channels are summed side by side, as one product of three
dimensions, and added up at the end. A step is GROUPS channels with all their taps: one set of addresses serves all
steps, and without borders there is nothing to compare. What decides is the number of programs and of warps on a
multiprocessor, which GROUPS, EXACT_P and EXACT_O set.
Serves: kernel 3, stride 2, padding 1, dilation 2, and in half precision rows of up to 256 elements; there more than 32
input channels and rows of more than 32 elements take one plane at a time and a compact copy that a last kernel spreads.
Reaches 46 % of the limit on 16x32to64x16x32x32 in bfloat16: 142 µs on an H200, 8.1 times PyTorch's faster one (bench).
"""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def channels_last_kernel(
    x_ptr, weight_ptr, x_last_ptr, weight_last_ptr, in_channels, out_channels, rows, width, size, blocks, images,
    PADDED_IN: tl.constexpr, PADDED_OUT: tl.constexpr, BLOCK: tl.constexpr, BLOCK_ROWS: tl.constexpr,
    BLOCK_O: tl.constexpr,
):  # fmt: skip
    """x as (image, depth, height, 1 + width, PADDED_IN), the column before a row being zeros that end the row before
    it, too; weight as (9, PADDED_OUT, 3, PADDED_IN), backwards. rows, size: rows and positions of an image of x."""
    pid = tl.program_id(0)
    c = tl.arange(0, PADDED_IN)
    if pid < blocks * images:
        position = pid % blocks * BLOCK + tl.arange(0, BLOCK)
        image = (pid // blocks).to(tl.int64)
        inside = (position < size)[None, :] & (c < in_channels)[:, None]
        x = tl.load(x_ptr + image * in_channels * size + c[:, None] * size + position[None, :], mask=inside, other=0.0)
        x_last = x_last_ptr + image * (size + rows) * PADDED_IN + c[None, :]
        to = position + position // width + 1
        tl.store(x_last + to[:, None] * PADDED_IN, tl.trans(x), mask=(position < size)[:, None])
        row = pid % blocks * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)  # up to the one after the last, whose zeros end it
        zeros = tl.zeros((BLOCK_ROWS, PADDED_IN), x_ptr.dtype.element_ty)
        tl.store(x_last + (row * (width + 1))[:, None] * PADDED_IN, zeros, mask=(row <= rows)[:, None])
    else:
        part = pid - blocks * images
        tap = part % 27
        o = part // 27 * BLOCK_O + tl.arange(0, BLOCK_O)[:, None]
        inside_weight = (o < out_channels) & (c < in_channels)[None, :]
        weight = tl.load(weight_ptr + (c[None, :] * out_channels + o) * 27 + 26 - tap, mask=inside_weight, other=0.0)
        tl.store(weight_last_ptr + ((tap // 3 * PADDED_OUT + o) * 3 + tap % 3) * PADDED_IN + c[None, :], weight)


@triton.jit
def write_gap(
    out_ptr, channel, d, end_of_out, VECTOR: tl.constexpr, PLANES: tl.constexpr,
    OUT_WIDTH: tl.constexpr, OUT_PLANE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Plane 2 * d, with the zeros around it up to the word of the first value after it, in vectors of 16 bytes; up to
    three words before that are left to `store_words` or `spread_kernel`. VECTOR: elements of a vector."""
    first = channel * ((2 * PLANES - 1) * OUT_PLANE) + d * (2 * OUT_PLANE)
    start = first // VECTOR
    vectors = (tl.minimum((first + OUT_PLANE + OUT_WIDTH + 1) // 2 * 2, end_of_out) // VECTOR - start).to(tl.int32)
    lane = tl.arange(0, BLOCK)[:, None]
    to = out_ptr + start * VECTOR + (lane * VECTOR + tl.arange(0, VECTOR)[None, :])
    for chunk in tl.static_range((OUT_PLANE + OUT_WIDTH) // VECTOR // BLOCK + 1):
        zeros = tl.zeros((BLOCK, VECTOR), out_ptr.dtype.element_ty)
        tl.store(to + chunk * (BLOCK * VECTOR), zeros, mask=lane < vectors - chunk * BLOCK)


@triton.jit
def write_tail(out_ptr, channels, VECTOR: tl.constexpr, ELEMENTS: tl.constexpr):
    """What is no whole vector at the end of out. ELEMENTS: of a channel."""
    all_elements = channels.to(tl.int64) * ELEMENTS
    tail = all_elements // VECTOR * VECTOR + tl.arange(0, VECTOR)
    tl.store(out_ptr + tail, tl.zeros((VECTOR,), out_ptr.dtype.element_ty), mask=tail < all_elements)


@triton.jit
def store_words(
    out_ptr, value, channel, out_channels, o, a, b_first, HEIGHT: tl.constexpr, WIDTH: tl.constexpr,
    PLANES: tl.constexpr, BLOCK_O: tl.constexpr, BLOCK_ROWS: tl.constexpr, BLOCK_WIDTH: tl.constexpr,
):  # fmt: skip
    """Rows of 2-byte values, (position, o), with their zeros, 4 bytes a lane. Where a < 0, nothing."""
    OUT_WIDTH: tl.constexpr = 2 * WIDTH + 1
    OUT_PLANE: tl.constexpr = (2 * HEIGHT + 1) * OUT_WIDTH
    ELEMENTS: tl.constexpr = (2 * PLANES - 1) * OUT_PLANE
    # Element 1 of row 1 of the plane, the first value; o counts from this channel.
    first = channel * ELEMENTS + (2 * a + 1) * OUT_PLANE + OUT_WIDTH + 1
    from_even = o * ELEMENTS + (first & 1).to(tl.int32)
    words = out_ptr.to(tl.pointer_type(tl.int32), bitcast=True) + ((first >> 1) + b_first * OUT_WIDTH)
    to = (from_even >> 1)[None, :]
    shift = ((from_even & 1) * 16)[None, :]  # whether the zero comes before the value
    position = tl.arange(0, BLOCK_ROWS * BLOCK_WIDTH)
    row = position // BLOCK_WIDTH
    w = position % BLOCK_WIDTH
    present = (o < out_channels)[None, :] & (a >= 0)
    inside = present & ((row < HEIGHT - b_first) & (w < WIDTH))[:, None]
    bits = value.to(tl.uint16, bitcast=True).to(tl.int32)
    lane = words + (to + (row * OUT_WIDTH + w)[:, None])
    tl.store(lane, bits << shift, mask=inside)
    # The rest of the row and all of the next: WIDTH + 1 words.
    zeros = tl.zeros((BLOCK_ROWS * BLOCK_WIDTH, BLOCK_O), tl.int32)
    tl.store(lane + WIDTH, zeros, mask=inside)
    row = tl.arange(0, BLOCK_ROWS)
    last = words + (to + (row * OUT_WIDTH + 2 * WIDTH)[:, None])
    tl.store(last, tl.zeros((BLOCK_ROWS, BLOCK_O), tl.int32), mask=present & (row < HEIGHT - b_first)[:, None])
    before = tl.arange(0, 4)[:, None]
    none = tl.zeros((4, BLOCK_O), tl.int32)
    tl.store(words + (to - 1 - before), none, mask=present & (b_first == 0) & (before < 3))


@triton.jit
def store_plane(compact_ptr, acc, channel, out_channels, o, a, b, w, depth, HEIGHT: tl.constexpr, WIDTH: tl.constexpr):
    """Where a < 0, nothing."""
    to = compact_ptr + ((channel + o[:, None]) * depth + a) * (HEIGHT * WIDTH) + (b * WIDTH + w)[None, :]
    inside = (o < out_channels)[:, None] & ((b < HEIGHT) & (w < WIDTH) & (a >= 0))[None, :]
    tl.store(to, acc.to(compact_ptr.dtype.element_ty), mask=inside)


@triton.jit
def windows(box, WIDTH: tl.constexpr, CHANNELS: tl.constexpr):
    """Rows 0 and 1 of four, rows 1 and 2, rows 2 and 3, each as (position, channel). Eight positions of one row follow
    eight of the other, because then both rows of a lane are in its own registers, and nothing has to move."""
    box = tl.reshape(box, (2, 2, WIDTH, CHANNELS))
    first, last = tl.split(tl.trans(box, 2, 3, 1, 0))  # (position in the row, channel, row)
    row_0, row_1 = tl.split(first)
    row_2, row_3 = tl.split(last)
    return (
        both_rows(row_0, row_1, WIDTH, CHANNELS),
        both_rows(row_1, row_2, WIDTH, CHANNELS),
        both_rows(row_2, row_3, WIDTH, CHANNELS),
    )


@triton.jit
def both_rows(one, other, WIDTH: tl.constexpr, CHANNELS: tl.constexpr):
    """Two rows of (position, channel) as one, eight by eight."""
    rows = tl.reshape(tl.join(one, other), (WIDTH // 8, 8, CHANNELS, 2))
    return tl.reshape(tl.trans(rows, 0, 3, 1, 2), (2 * WIDTH, CHANNELS))


@triton.jit
def beside(one, other, POSITIONS: tl.constexpr, CHANNELS: tl.constexpr):
    """The terms of one product after those of another."""
    return tl.reshape(tl.trans(tl.join(one, other), 0, 2, 1), (POSITIONS, 2 * CHANNELS))


@triton.jit(do_not_specialize=["images"])
def march_kernel(
    x, pairs, weight_ptr, out_ptr, images, out_channels, row_tiles,
    HEIGHT: tl.constexpr, WIDTH: tl.constexpr, PADDED_OUT: tl.constexpr,
    BLOCK_O: tl.constexpr, BLOCK_WIDTH: tl.constexpr, BLOCK_C: tl.constexpr,
    PLANES: tl.constexpr, GAPS: tl.constexpr, VECTOR: tl.constexpr, BLOCK_GAP: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """All planes of two rows of an image, and so of every num_programs-th; GAPS gaps in each step. Values and zeros are
    written after the fetches for the next step."""
    N: tl.constexpr = 2 * BLOCK_WIDTH
    OUT_WIDTH: tl.constexpr = 2 * WIDTH + 1
    OUT_PLANE: tl.constexpr = (2 * HEIGHT + 1) * OUT_WIDTH
    o_first = tl.program_id(1) * BLOCK_O
    o = o_first + tl.arange(0, BLOCK_O)
    # Of the middle sums, and beside them of the starting ones.
    columns = tl.arange(0, 2 * BLOCK_O)
    later_row = 3 - columns // BLOCK_O * 3
    later_o = o_first + columns % BLOCK_O
    # Terms: both first taps of row 0, of row 1, of row 2, the last tap of row 0, of row 1; and apart, that of row 2.
    term = tl.arange(0, 8 * BLOCK_C)
    paired = term < 6 * BLOCK_C
    row = tl.where(paired, term // (2 * BLOCK_C), term // BLOCK_C - 6)
    offset = row * (PADDED_OUT * 3 * BLOCK_C) + tl.where(paired, term % (2 * BLOCK_C), 2 * BLOCK_C + term % BLOCK_C)
    offset_apart = 2 * (PADDED_OUT * 3 * BLOCK_C) + 2 * BLOCK_C + tl.arange(0, BLOCK_C)
    ending_taps = weight_ptr + ((6 * PADDED_OUT + o) * (3 * BLOCK_C))[:, None]
    later_taps = weight_ptr + ((later_row * PADDED_OUT + later_o) * (3 * BLOCK_C))[:, None]
    ending_weights = tl.trans(tl.load(ending_taps + offset[None, :]))
    ending_apart = tl.trans(tl.load(ending_taps + offset_apart[None, :]))
    later_weights = tl.trans(tl.load(later_taps + offset[None, :]))
    later_apart = tl.trans(tl.load(later_taps + offset_apart[None, :]))
    if tl.program_id(0) + tl.program_id(1) == 0:
        write_tail(out_ptr, images * out_channels, VECTOR, (2 * PLANES - 1) * OUT_PLANE)
    ending = tl.zeros((N, BLOCK_O), tl.float32)  # sums that lack one plane of x, and,
    later = tl.zeros((N, 2 * BLOCK_O), tl.float32)  # side by side, two and three
    end = images.to(tl.int64) * out_channels * ((2 * PLANES - 1) * OUT_PLANE)
    mine = tl.cdiv(images * row_tiles - tl.program_id(0), tl.num_programs(0))
    for step in tl.range(0, mine * PLANES, num_stages=STAGES):
        item = tl.program_id(0) + step // PLANES * tl.num_programs(0)
        d = step % PLANES  # the last is beyond x, and reads as zeros
        tile = item % row_tiles
        b_first = tile * 2
        image = item // row_tiles
        channel = image.to(tl.int64) * out_channels
        paired_0, paired_1, paired_2 = windows(pairs.load([image, d, b_first - 1, 0, 0]), BLOCK_WIDTH, 2 * BLOCK_C)
        single_0, single_1, single_2 = windows(x.load([image, d, b_first - 1, 2, 0]), BLOCK_WIDTH, BLOCK_C)
        single = beside(single_0, single_1, N, BLOCK_C)
        positions = beside(
            beside(paired_0, paired_1, N, 2 * BLOCK_C), beside(paired_2, single, N, 2 * BLOCK_C), N, 4 * BLOCK_C
        )
        ending = tl.dot(positions, ending_weights, ending)
        later = tl.dot(positions, later_weights, later)
        ending = tl.dot(single_2, ending_apart, ending)
        later = tl.dot(single_2, later_apart, later)
        value = tl.reshape(ending.to(out_ptr.dtype.element_ty), (BLOCK_WIDTH // 8, 2, 8, BLOCK_O))
        value = tl.reshape(tl.trans(value, 1, 0, 2, 3), (N, BLOCK_O))  # row by row
        if d > 0:  # what is under a condition the compiler puts after the fetches for the next step
            store_words(
                out_ptr, value, channel, out_channels, o, d - 1, b_first,
                HEIGHT, WIDTH, PLANES, BLOCK_O, 2, BLOCK_WIDTH,
            )  # fmt: skip
        for turn in tl.static_range(GAPS):
            gap = (tl.program_id(1) * row_tiles + tile) * GAPS + turn  # the channel
            end_of_gap = tl.where(gap < out_channels, end, 0)
            write_gap(out_ptr, channel + gap, d, end_of_gap, VECTOR, PLANES, OUT_WIDTH, OUT_PLANE, BLOCK_GAP)
        # Sums of another item begin at zero; and the compiler, which has to select, waits for the products first.
        middle, starting = tl.split(tl.trans(tl.reshape(later, (N, 2, BLOCK_O)), 0, 2, 1))
        ending = tl.where(d == PLANES - 1, 0.0, middle)
        middle = tl.where(d == PLANES - 1, 0.0, starting)
        later = tl.reshape(tl.trans(tl.join(middle, tl.zeros_like(middle)), 0, 2, 1), (N, 2 * BLOCK_O))


@triton.jit
def plane_kernel(
    x, weight, compact_ptr, out_channels, depth, row_tiles, steps,
    HEIGHT: tl.constexpr, WIDTH: tl.constexpr, PADDED_IN: tl.constexpr, PADDED_OUT: tl.constexpr,
    BLOCK_O: tl.constexpr, BLOCK_ROWS: tl.constexpr, BLOCK_WIDTH: tl.constexpr, BLOCK_C: tl.constexpr,
):  # fmt: skip
    """BLOCK_ROWS rows of one plane, a tap and BLOCK_C channels at a time."""
    PARTS: tl.constexpr = PADDED_IN // BLOCK_C
    N: tl.constexpr = BLOCK_ROWS * BLOCK_WIDTH
    pid = tl.program_id(0)
    o_first = tl.program_id(1) * BLOCK_O
    b_first = pid % row_tiles * BLOCK_ROWS
    a = pid // row_tiles % depth
    image = pid // row_tiles // depth
    acc = tl.zeros((BLOCK_O, N), tl.float32)
    for step in range(steps):  # 27 * PARTS, unknown to the compiler, which would unroll it
        tap = step // PARTS
        c = step % PARTS * BLOCK_C
        box = x.load([image, a + tap // 9 - 1, b_first + tap // 3 % 3 - 1, tap % 3, c])
        taps = weight.load([tap // 3 * PADDED_OUT + o_first, tap % 3 * PADDED_IN + c])
        acc = tl.dot(taps, tl.trans(tl.reshape(box, (N, BLOCK_C))), acc, input_precision="ieee")
    position = tl.arange(0, N)
    o = o_first + tl.arange(0, BLOCK_O)
    b = b_first + position // BLOCK_WIDTH
    w = position % BLOCK_WIDTH
    channel = image.to(tl.int64) * out_channels
    store_plane(compact_ptr, acc, channel, out_channels, o, a, b, w, depth, HEIGHT, WIDTH)


@triton.jit(do_not_specialize=["channels"])
def spread_kernel(
    compact_ptr, out_ptr, channels, depth,
    HEIGHT: tl.constexpr, WIDTH: tl.constexpr, PLANES: tl.constexpr,
    VECTOR: tl.constexpr, BLOCK: tl.constexpr, TOGETHER: tl.constexpr,
):  # fmt: skip
    """The values of a plane of odd depth and the zeros between them, words of two elements, 16 bytes a lane, and
    the zeros before them. channels: of all images."""
    OUT_WIDTH: tl.constexpr = 2 * WIDTH + 1
    OUT_PLANE: tl.constexpr = (2 * HEIGHT + 1) * OUT_WIDTH
    WORDS: tl.constexpr = VECTOR // 2
    pid = tl.program_id(0)
    channel = (pid // PLANES).to(tl.int64)
    a = pid % PLANES
    end_of_out = channels.to(tl.int64) * ((2 * PLANES - 1) * OUT_PLANE)
    write_gap(out_ptr, channel, a, end_of_out, VECTOR, PLANES, OUT_WIDTH, OUT_PLANE, BLOCK)
    if pid == 0:
        write_tail(out_ptr, channels, VECTOR, (2 * PLANES - 1) * OUT_PLANE)
    if a < depth:
        words = out_ptr.to(tl.pointer_type(tl.int32), bitcast=True)
        bits_ptr = compact_ptr.to(tl.pointer_type(tl.uint16), bitcast=True)
        bits_plane = bits_ptr + (channel * depth + a) * (HEIGHT * WIDTH)
        # Element 1 of row 1 of the plane, the first value, with one of its zeros.
        first = (channel * ((2 * PLANES - 1) * OUT_PLANE) + (2 * a + 1) * OUT_PLANE + OUT_WIDTH + 1) // 2
        shift = tl.where(channel % 2 == 0, 16, 0)  # whether the zero comes before the value
        start = first // WORDS
        end = (first + HEIGHT * OUT_WIDTH + WORDS - 1) // WORDS
        before = (first - start * WORDS).to(tl.int32)
        lane = tl.arange(0, BLOCK)[:, None]
        within = tl.arange(0, WORDS)[None, :]
        VECTORS: tl.constexpr = (HEIGHT * OUT_WIDTH + WORDS - 1) // WORDS + 1
        for group in range(0, (VECTORS + BLOCK * TOGETHER - 1) // (BLOCK * TOGETHER)):
            found = ()
            for step in tl.static_range(TOGETHER):
                # Counted from a row before, as the first vector may begin there; a vector ends in its row or the next.
                word = (((group * TOGETHER + step) * BLOCK + lane) * WORDS + (OUT_WIDTH - before)).to(tl.uint32)
                row = (word // OUT_WIDTH).to(tl.int32)
                w = (word % OUT_WIDTH).to(tl.int32) + within
                next_row = w >= OUT_WIDTH
                value = ((w < WIDTH) & (row > 0) & (row <= HEIGHT)) | (next_row & (row < HEIGHT))
                at = row * WIDTH - WIDTH + w + tl.where(next_row, WIDTH - OUT_WIDTH, 0)
                found += (tl.load(bits_plane + at, mask=value, other=0),)
            for step in tl.static_range(TOGETHER):
                vector = start + (group * TOGETHER + step) * BLOCK + lane
                tl.store(words + vector * WORDS + within, found[step].to(tl.int32) << shift, mask=vector < end)


@triton.jit
def prepare_kernel(
    x_ptr, weight_ptr, x_wide_ptr, weight_last_ptr, out_ptr, in_channels, padded_in, out_channels, depth, height, width,
    wide_elements, weight_elements, out_elements, wide_blocks, weight_blocks,
    PADDED_OUT: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """x as (image, padded_in, 2 + depth, 2 + height, 2 + width) with zeros around it; weight as (padded_in, 32,
    PADDED_OUT), taps backwards; zeros in both for what is not there, and in all of out."""
    block = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    if block < wide_blocks:
        to = block * BLOCK + lane
        w = to % (width + 2) - 1
        row = to // (width + 2)
        b = row % (height + 2) - 1
        plane = row // (height + 2)
        a = plane % (depth + 2) - 1
        channel = plane // (depth + 2) % padded_in
        image = plane // (depth + 2) // padded_in
        inside = (w >= 0) & (w < width) & (b >= 0) & (b < height) & (a >= 0) & (a < depth) & (channel < in_channels)
        from_x = (((image * in_channels + channel) * depth + a) * height + b) * width + w
        x = tl.load(x_ptr + from_x, mask=inside & (to < wide_elements), other=0.0)
        tl.store(x_wide_ptr + to, x, mask=to < wide_elements)
    elif block < wide_blocks + weight_blocks:
        to = (block - wide_blocks) * BLOCK + lane
        o = to % PADDED_OUT
        tap = to // PADDED_OUT % 32
        c = to // (PADDED_OUT * 32)
        inside = (o < out_channels) & (tap < 27) & (c < in_channels)
        weight = tl.load(weight_ptr + (c * out_channels + o) * 27 + 26 - tap, mask=inside, other=0.0)
        tl.store(weight_last_ptr + to, weight, mask=to < weight_elements)
    else:
        element = (block - wide_blocks - weight_blocks).to(tl.int64) * BLOCK + lane
        tl.store(out_ptr + element, tl.zeros((BLOCK,), out_ptr.dtype.element_ty), mask=element < out_elements)


@triton.jit
def exact_kernel(
    x_wide_ptr, weight_last_ptr, out_ptr, positions, padded_in, out_channels, depth, height, width,
    PADDED_OUT: tl.constexpr, GROUPS: tl.constexpr, BLOCK_P: tl.constexpr, BLOCK_O: tl.constexpr,
):  # fmt: skip
    """BLOCK_P positions of x and BLOCK_O channels of out; GROUPS channels of x at a time. positions: of all images.
    Loads and stores of positions are written in one dimension: the compiler does not see that neighbouring positions
    are mostly neighbours in memory, and of several dimensions might give the lanes of a warp another."""
    wide_row = width + 2
    wide_plane = (height + 2) * wide_row
    wide = (depth + 2) * wide_plane
    p_first = tl.program_id(0) * BLOCK_P
    o_first = tl.program_id(1) * BLOCK_O
    lane = tl.arange(0, GROUPS * 32 * BLOCK_P)
    tap = lane // BLOCK_P % 32
    # The last program repeats the last position, and stores the same value again.
    w, b, a, image = place(tl.minimum(p_first + lane % BLOCK_P, positions - 1), depth, height, width)
    corner = image * padded_in * wide + a * wide_plane + b * wide_row + w  # of the taps of a position
    meets = corner + tap // 9 * wide_plane + tap // 3 % 3 * wide_row + tap % 3
    # Taps 27 to 31 do not exist; element 0 of a channel is a zero of the border.
    from_x = lane // (32 * BLOCK_P) * wide + tl.where(tap < 27, meets, 0)
    row = tl.arange(0, GROUPS * 32)
    from_weight = tl.reshape(row, (GROUPS, 32, 1)) * PADDED_OUT + (o_first + tl.arange(0, BLOCK_O))[None, None, :]
    acc = tl.zeros((GROUPS, BLOCK_P, BLOCK_O), tl.float32)
    for first in range(0, padded_in, GROUPS):
        values = tl.reshape(tl.load(x_wide_ptr + first * wide + from_x), (GROUPS, 32, BLOCK_P))
        weights = tl.load(weight_last_ptr + first * (32 * PADDED_OUT) + from_weight)
        acc = tl.dot(tl.permute(values, (0, 2, 1)), weights, acc, input_precision="ieee")
    total = tl.reshape(tl.trans(tl.sum(acc, 0)), (BLOCK_O * BLOCK_P,))
    lane = tl.arange(0, BLOCK_O * BLOCK_P)
    w, b, a, image = place(tl.minimum(p_first + lane % BLOCK_P, positions - 1), depth, height, width)
    o = o_first + lane // BLOCK_P
    plane = (image.to(tl.int64) * out_channels + o) * (2 * depth + 1) + 2 * a + 1
    to = (plane * (2 * height + 1) + 2 * b + 1) * (2 * width + 1) + 2 * w + 1
    tl.store(out_ptr + to, total, mask=o < out_channels)


@triton.jit
def place(position, depth, height, width):
    """Column, row, plane and image."""
    return (
        position % width,
        position // width % height,
        position // width // height % depth,
        position // width // height // depth,
    )


STAGES = 2
PROGRAMS_EACH = 2
"""Programs that fit on a multiprocessor."""
BLOCK_O = 32
BLOCK_GAP = 128
BLOCK_SPREAD = 128
TOGETHER = 5
BLOCK_COPY = 128

# In float32.
GROUPS = 2
EXACT_P = 32
EXACT_O = 32
EXACT_WARPS = 4
EXACT_STAGES = 3
BLOCK_PREPARE = 1024


def exact_convolution(x, weight, out):
    batch, in_channels, depth, height, width = x.shape
    out_channels = weight.shape[1]
    padded_out = triton.cdiv(out_channels, EXACT_O) * EXACT_O
    padded_in = triton.cdiv(in_channels, GROUPS) * GROUPS
    x_wide = torch.empty((batch, padded_in, depth + 2, height + 2, width + 2), dtype=x.dtype, device=x.device)
    weight_last = torch.empty((padded_in, 32, padded_out), dtype=x.dtype, device=x.device)
    blocks = [triton.cdiv(each.numel(), BLOCK_PREPARE) for each in (x_wide, weight_last, out)]
    prepare_kernel[(sum(blocks),)](
        x, weight, x_wide, weight_last, out, in_channels, padded_in, out_channels, depth, height, width,
        x_wide.numel(), weight_last.numel(), out.numel(), blocks[0], blocks[1],
        PADDED_OUT=padded_out, BLOCK=BLOCK_PREPARE, num_warps=4,
    )  # fmt: skip
    positions = batch * depth * height * width
    exact_kernel[(triton.cdiv(positions, EXACT_P), padded_out // EXACT_O)](
        x_wide, weight_last, out, positions, padded_in, out_channels, depth, height, width,
        PADDED_OUT=padded_out, GROUPS=GROUPS, BLOCK_P=EXACT_P, BLOCK_O=EXACT_O,
        num_warps=EXACT_WARPS, num_stages=EXACT_STAGES,
    )  # fmt: skip


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
        out = torch.empty(
            (batch, out_channels, 2 * depth + 1, 2 * height + 1, 2 * width + 1), dtype=x.dtype, device=x.device
        )
        if x.element_size() == 4:
            exact_convolution(x, weight, out)
            return out
        padded_in = max(triton.next_power_of_2(in_channels), 32)
        block_c = 64 if padded_in > 32 else 32
        march = padded_in == 32 and width <= 32
        block_width = 32 if march else max(triton.next_power_of_2(width), 16)
        if block_width > 256:
            raise ValueError("serves only rows of up to 256 elements: a program holds whole ones")
        block_o, block_rows = (BLOCK_O, 2) if march else (64, max(64 // block_width, 1))
        row_tiles, o_tiles = triton.cdiv(height, block_rows), triton.cdiv(out_channels, block_o)
        gaps = triton.cdiv(out_channels, row_tiles * o_tiles)
        padded_out = o_tiles * block_o

        rows, size = depth * height, depth * height * width
        x_last = torch.empty((batch * (size + rows) + 1) * padded_in, dtype=x.dtype, device=x.device)
        weight_last = torch.empty((9 * padded_out, 3 * padded_in), dtype=x.dtype, device=x.device)
        blocks = triton.cdiv(size, BLOCK_COPY)
        channels_last_kernel[(blocks * batch + 27 * (padded_out // block_o),)](
            x, weight, x_last, weight_last, in_channels, out_channels, rows, width, size, blocks, batch,
            PADDED_IN=padded_in, PADDED_OUT=padded_out, BLOCK=BLOCK_COPY,
            BLOCK_ROWS=triton.next_power_of_2(triton.cdiv(rows + 1, blocks)), BLOCK_O=block_o, num_warps=4,
        )  # fmt: skip
        # Columns 0 and width + 1 of a row are its zeros before and after; rows and planes beyond read as zeros.
        row = (width + 1) * padded_in
        strides = [depth * height * row, height * row, row, padded_in, 1]
        box = [1, 1, 4 if march else block_rows, block_width]
        x_boxes = TensorDescriptor(x_last, [batch, depth, height, width + 2, padded_in], strides, [*box, block_c])
        weight_tiles = TensorDescriptor.from_tensor(weight_last, [block_o, block_c])
        # A vector that begins in the zeros of one plane must not end among the values of the one before.
        vector = 8 if width >= 3 else 2
        if march:
            pairs = TensorDescriptor(
                x_last, [batch, depth, height, width + 1, 2 * padded_in], strides, [*box, 2 * block_c]
            )
            programs = PROGRAMS_EACH * torch.cuda.get_device_properties(x.device).multi_processor_count
            march_kernel[(min(batch * row_tiles, max(programs // o_tiles, 1)), o_tiles)](
                x_boxes, pairs, weight_last, out, batch, out_channels, row_tiles,
                HEIGHT=height, WIDTH=width, PADDED_OUT=padded_out,
                BLOCK_O=block_o, BLOCK_WIDTH=block_width, BLOCK_C=block_c,
                PLANES=depth + 1, GAPS=gaps, VECTOR=vector, BLOCK_GAP=BLOCK_GAP, STAGES=STAGES,
                num_warps=4,
            )  # fmt: skip
        else:
            compact = torch.empty((batch, out_channels, depth, height, width), dtype=x.dtype, device=x.device)
            plane_kernel[(row_tiles * depth * batch, o_tiles)](
                x_boxes, weight_tiles, compact, out_channels, depth, row_tiles, 27 * (padded_in // block_c),
                HEIGHT=height, WIDTH=width, PADDED_IN=padded_in, PADDED_OUT=padded_out,
                BLOCK_O=block_o, BLOCK_ROWS=block_rows, BLOCK_WIDTH=block_width, BLOCK_C=block_c,
                num_warps=4, num_stages=4,
            )  # fmt: skip
            vectors = triton.cdiv(height * (2 * width + 1), vector // 2) + 1
            together = min(TOGETHER, triton.cdiv(vectors, BLOCK_SPREAD))
            spread_kernel[(batch * out_channels * (depth + 1),)](
                compact, out, batch * out_channels, depth,
                HEIGHT=height, WIDTH=width, PLANES=depth + 1,
                VECTOR=vector, BLOCK=BLOCK_SPREAD, TOGETHER=together, num_warps=4,
            )  # fmt: skip
        return out
