"""Depthwise convolution, one program per strip of output rows of one channel, which stores whole lines of 128 bytes.

Idea: a row of out is two elements shorter than one of x, so that stores beside the loads begin anywhere within a line:
each touches two lines and writes parts of sectors. Here the lanes first hand their pairs on by as many lanes as the row
begins within a line, and the end of a row that fills no line waits for the row that follows it in memory. Loads are
those of a strip that lets no row be cut short: a lane's own pair and the next one, AHEAD rows before the first is used.
The first programs take tall strips, which read few rows twice; those that finish last take short ones, which balance.
Must move: x once and out once; a strip reads two rows more than it writes.
Serves: 3x3 filters, stride 1, no padding; whole lines where a row of x is a power of two of 2-byte elements.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def add_row(left, right, a, b, c, d, w0, w1, w2):
    """One filter row added to two neighbouring outputs: inputs a b c to the left one, b c d to the right one."""
    return left + a * w0 + b * w1 + c * w2, right + b * w0 + c * w1 + d * w2


@triton.jit
def lines_of(left, right, LINES: tl.constexpr, DTYPE: tl.constexpr):
    """Pairs of a row as words, in LINES parts of 32."""
    low = left.to(DTYPE).to(tl.uint16, bitcast=True).to(tl.uint32)
    high = right.to(DTYPE).to(tl.uint16, bitcast=True).to(tl.uint32)
    parts = (low | (high << 16),)
    for level in tl.static_range(6):
        if 2**level < LINES:
            halves = ()
            for part in tl.static_range(2**level):
                halves += tl.split(tl.trans(tl.reshape(parts[part], (2, 16 * LINES // 2**level))))
            parts = halves
    return parts


@triton.jit
def short_strip(number, planes, strips, PIECES: tl.constexpr):
    """Plane and strip of the `number`-th program that takes a short one.

    Without PIECES neighbouring strips begin together. With them, the first strips of all pieces of all planes begin
    together, and then the second ones: about when those above them read the two rows that they share.
    """
    if PIECES == 0:
        return number // strips, number % strips
    walks = planes * PIECES
    walk = number % walks
    return walk // PIECES, walk % PIECES * tl.cdiv(strips, PIECES) + number // walks


@triton.jit(do_not_specialize=["row_pairs", "out_row_pairs"])
def depthwise_conv2d_kernel(
    x_ptr, weight_ptr, out_ptr, channels, height, out_height, row_pairs, out_row_pairs, planes, tall_planes,
    WIDTH: tl.constexpr, AHEAD: tl.constexpr, TALL_BLOCKS: tl.constexpr, BLOCKS: tl.constexpr, PAIRS: tl.constexpr,
    LINES: tl.constexpr, PIECES: tl.constexpr, STORES: tl.constexpr,
):  # fmt: skip
    EVEN: tl.constexpr = WIDTH % 2 == 0
    OUT_WIDTH: tl.constexpr = WIDTH - 2
    OUT_WORDS: tl.constexpr = OUT_WIDTH // 2
    number = tl.program_id(0)
    tall_strips = tl.cdiv(out_height, AHEAD * TALL_BLOCKS)
    strips = tl.cdiv(out_height, AHEAD * BLOCKS)
    if number < tall_planes * tall_strips:
        blocks = TALL_BLOCKS
        index = number // tall_strips
        strip = number % tall_strips
    else:
        blocks = BLOCKS
        index, strip = short_strip(number - tall_planes * tall_strips, planes - tall_planes, strips, PIECES)
        index += tall_planes
    plane = index.to(tl.int64)  # image * channels + channel
    # At least 0: the host sees to it. The last strip begins earlier than it would, so that none is cut short.
    first = tl.minimum(strip * blocks * AHEAD, out_height - blocks * AHEAD)
    pair = tl.arange(0, PAIRS)[:, None]
    column = 2 * pair + tl.arange(0, 2)[None, :]
    # Where rows hold a whole number of pairs, offsets are written as twice something of which the compiler knows
    # nothing: 4-byte accesses, where it would choose 16 bytes for one of the two pairs and shuffle them to the other.
    if EVEN:
        x_row = x_ptr + 2 * (plane * height + first) * row_pairs + column
        out_row = out_ptr + 2 * (plane * out_height + first) * out_row_pairs + column
        here = pair < WIDTH // 2
        after = pair < WIDTH // 2 - 1
        stored = pair < OUT_WIDTH // 2
    else:
        x_row = x_ptr + (plane * height + first) * WIDTH + column
        out_row = out_ptr + (plane * out_height + first) * OUT_WIDTH + column
        here = column < WIDTH
        after = column + 2 < WIDTH
        stored = column < OUT_WIDTH
    w = weight_ptr + plane % channels * 9
    w00 = tl.load(w).to(tl.float32)
    w01 = tl.load(w + 1).to(tl.float32)
    w02 = tl.load(w + 2).to(tl.float32)
    w10 = tl.load(w + 3).to(tl.float32)
    w11 = tl.load(w + 4).to(tl.float32)
    w12 = tl.load(w + 5).to(tl.float32)
    w20 = tl.load(w + 6).to(tl.float32)
    w21 = tl.load(w + 7).to(tl.float32)
    w22 = tl.load(w + 8).to(tl.float32)

    # Outputs whose first rows have been added: `one` lacks two rows, `two` lacks one.
    zero = tl.zeros((PAIRS,), tl.float32)
    one_l, one_r, two_l, two_r = zero, zero, zero, zero
    for step in tl.static_range(2):
        a, b = tl.split(tl.load(x_row + step * WIDTH, mask=here, other=0.0).to(tl.float32))
        c, d = tl.split(tl.load(x_row + (step * WIDTH + 2), mask=after, other=0.0).to(tl.float32))
        if step == 1:
            two_l, two_r = add_row(one_l, one_r, a, b, c, d, w10, w11, w12)
        one_l, one_r = add_row(zero, zero, a, b, c, d, w00, w01, w02)
    x_row += 2 * WIDTH

    lane = tl.arange(0, 32)
    plane_word = plane * out_height * OUT_WORDS
    word = (plane_word % 32).to(tl.int32) + first * OUT_WORDS  # where the row to be stored begins, beyond `words`
    words = out_ptr.to(tl.pointer_type(tl.uint32), bitcast=True) + plane_word // 32 * 32 + lane
    waiting = tl.zeros((32,), tl.uint32)  # the end of the row before
    for block in range(blocks):
        own = ()
        other = ()
        for step in tl.static_range(AHEAD):
            own += (tl.load(x_row + step * WIDTH, mask=here, other=0.0),)
            other += (tl.load(x_row + (step * WIDTH + 2), mask=after, other=0.0),)
        for step in tl.static_range(AHEAD):
            a, b = tl.split(own[step].to(tl.float32))
            c, d = tl.split(other[step].to(tl.float32))
            done_l, done_r = add_row(two_l, two_r, a, b, c, d, w20, w21, w22)
            if LINES > 0:
                # A row is a word shorter than its LINES. It begins `shift` words into a line; the line that it does
                # not fill waits, and that is its last whole one where shift is 0.
                shift = word & 31
                line = words + (word - shift)
                parts = lines_of(done_l, done_r, LINES, out_ptr.dtype.element_ty)
                for part in tl.static_range(LINES):
                    moved = tl.gather(parts[part], (lane - shift) & 31, 0)
                    full = tl.where(lane >= shift, moved, waiting)
                    if part == LINES - 1:
                        tl.store(line + 32 * part, full, mask=(lane >= 0) & (shift > 0), cache_modifier=STORES)
                    elif part == 0 and step == 0:
                        begun = (lane >= shift) | (block > 0)  # nothing waits before the first row
                        tl.store(line, full, mask=begun, cache_modifier=STORES)
                    else:
                        tl.store(line + 32 * part, full, cache_modifier=STORES)
                    waiting = moved
                word += OUT_WORDS
            else:
                done = tl.join(done_l, done_r).to(out_ptr.dtype.element_ty)
                tl.store(out_row + step * OUT_WIDTH, done, mask=stored, cache_modifier=STORES)
            two_l, two_r = add_row(one_l, one_r, a, b, c, d, w10, w11, w12)
            one_l, one_r = add_row(zero, zero, a, b, c, d, w00, w01, w02)
        x_row += AHEAD * WIDTH
        out_row += AHEAD * OUT_WIDTH
    if LINES > 0:
        shift = word & 31
        tl.store(words + (word - shift), waiting, mask=lane < shift, cache_modifier=STORES)


AHEAD = 4
BLOCKS = 4
TALL_BLOCKS = 32
TALL_SHARE = 0.0
"""Part of the planes that is cut into tall strips; they come first."""
PIECES = 0
"""Pieces of a plane that programs with short strips walk down together; 0 for whole planes one after the other."""
ALIGNED = True
STORES = ""
REGISTERS = 128
"""The most for a thread; where more are allowed the compiler puts no loads off until after the first sums."""
ENOUGH_PROGRAMS = 1024
"""Programs that fill the GPU; a small batch is cut into shorter strips of more threads to have as many."""


def kernel_function(x, conv_weight):
    x = x.contiguous()
    conv_weight = conv_weight.contiguous()
    batch, channels, height, width = x.shape
    out_height = height - 2
    out_width = width - 2
    planes = batch * channels
    out = torch.empty((batch, channels, out_height, out_width), dtype=x.dtype, device=x.device)
    rows = AHEAD * BLOCKS
    many = out_height >= rows and triton.cdiv(out_height, rows) * planes >= ENOUGH_PROGRAMS
    ahead = AHEAD if out_height >= AHEAD else 1
    blocks = BLOCKS if many else 1
    tall_blocks = TALL_BLOCKS if out_height >= AHEAD * TALL_BLOCKS else blocks
    tall_planes = int(planes * TALL_SHARE) if many else 0
    pairs = triton.next_power_of_2(triton.cdiv(out_width, 2))
    aligned = ALIGNED and many and width == 2 * pairs and pairs >= 64 and x.element_size() == 2
    programs = tall_planes * triton.cdiv(out_height, ahead * tall_blocks)
    strips = triton.cdiv(out_height, ahead * blocks)
    pieces = PIECES if many else 0
    programs += (planes - tall_planes) * (triton.cdiv(strips, pieces) * pieces if pieces else strips)
    depthwise_conv2d_kernel[(programs,)](
        x, conv_weight, out, channels, height, out_height, width // 2, out_width // 2, planes, tall_planes,
        WIDTH=width, AHEAD=ahead, TALL_BLOCKS=tall_blocks, BLOCKS=blocks, PAIRS=pairs,
        LINES=pairs // 32 if aligned else 0, PIECES=pieces, STORES=STORES,
        num_warps=1 if many else 4, num_stages=1, maxnreg=REGISTERS if many else None,
    )  # fmt: skip
    return out
