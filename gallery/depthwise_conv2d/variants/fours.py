"""Depthwise convolution, one program per strip of rows of one channel; a lane owns fours, and stores fill whole lines.

Idea: as in aligned.py, the lanes hand their outputs on, so that stores fill whole lines although a row of out is two
elements shorter than one of x. But a lane owns four neighbouring outputs, two words of two: 12 bytes in two loads for
each row where pairs take 16 in four, and 8 bytes a store. A row of out is an odd number of words; of two neighbouring
rows one begins at an even word and the other at an odd one, where a lane's two words go to two neighbours. Which one
is known when the strips begin at even rows, so AHEAD is even.
Must move: x once and out once; a strip reads two rows more than it writes.
Serves: 3x3 filters, stride 1, no padding; whole lines where a row of x is a power of two of 2-byte elements and the
number of rows is even.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def add_row(left, right, a, b, c, d, w0, w1, w2):
    """One filter row added to two neighbouring outputs: inputs a b c to the left one, b c d to the right one."""
    return left + a * w0 + b * w1 + c * w2, right + b * w0 + c * w1 + d * w2


@triton.jit
def six(own, other, FOURS: tl.constexpr):
    """The four elements of x that a lane owns and the two that follow, in order."""
    even, odd = tl.split(tl.reshape(own.to(tl.float32), (FOURS, 2, 2)))
    a, c = tl.split(even)
    b, d = tl.split(odd)
    e, f = tl.split(other.to(tl.float32))
    return a, b, c, d, e, f


@triton.jit
def lines_of(left, right, LINES: tl.constexpr, DTYPE: tl.constexpr):
    """Words of two neighbouring outputs, in LINES parts of 32."""
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


@triton.jit(do_not_specialize=["row_fours"])
def depthwise_conv2d_kernel(
    x_ptr, weight_ptr, out_ptr, channels, height, out_height, row_fours, planes, tall_planes,
    WIDTH: tl.constexpr, AHEAD: tl.constexpr, TALL_BLOCKS: tl.constexpr, BLOCKS: tl.constexpr, FOURS: tl.constexpr,
    LINES: tl.constexpr, PIECES: tl.constexpr, LAST_FIRST: tl.constexpr,
):  # fmt: skip
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
    four = tl.arange(0, FOURS)
    own_column = 4 * four[:, None] + tl.arange(0, 4)[None, :]
    next_column = 4 * four[:, None] + 4 + tl.arange(0, 2)[None, :]
    if WIDTH % 4 == 0:  # four times something of which the compiler knows nothing: accesses of a whole four, no wider
        x_row = x_ptr + 4 * (plane * height + first) * row_fours
        here = (four < WIDTH // 4)[:, None]
        after = (four < WIDTH // 4 - 1)[:, None]
    else:
        x_row = x_ptr + (plane * height + first) * WIDTH
        here = own_column < WIDTH
        after = next_column < WIDTH
    out_row = out_ptr + (plane * out_height + first) * OUT_WIDTH
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
    zero = tl.zeros((FOURS,), tl.float32)
    one_0, one_1, one_2, one_3 = zero, zero, zero, zero
    two_0, two_1, two_2, two_3 = zero, zero, zero, zero
    for step in tl.static_range(2):
        own = tl.load(x_row + step * WIDTH + own_column, mask=here, other=0.0)
        other = tl.load(x_row + step * WIDTH + next_column, mask=after, other=0.0)
        a, b, c, d, e, f = six(own, other, FOURS)
        if step == 1:
            two_0, two_1 = add_row(one_0, one_1, a, b, c, d, w10, w11, w12)
            two_2, two_3 = add_row(one_2, one_3, c, d, e, f, w10, w11, w12)
        one_0, one_1 = add_row(zero, zero, a, b, c, d, w00, w01, w02)
        one_2, one_3 = add_row(zero, zero, c, d, e, f, w00, w01, w02)
    x_row += 2 * WIDTH

    lane = tl.arange(0, 32)
    plane_word = plane * out_height * OUT_WORDS
    word = (plane_word % 64).to(tl.int32) + first * OUT_WORDS  # where the row to be stored begins, beyond `words`
    words = out_ptr.to(tl.pointer_type(tl.uint32), bitcast=True) + plane_word // 64 * 64
    words += 2 * lane[:, None] + tl.arange(0, 2)[None, :]
    waiting_0, waiting_1 = tl.zeros((32,), tl.uint32), tl.zeros((32,), tl.uint32)  # the end of the row before
    for block in range(blocks):
        owns = ()
        others = ()
        for step in tl.static_range(AHEAD):
            row = x_row + (AHEAD - 1 - step if LAST_FIRST else step) * WIDTH
            owns += (tl.load(row + own_column, mask=here, other=0.0),)
            others += (tl.load(row + next_column, mask=after, other=0.0),)
        for step in tl.static_range(AHEAD):
            if LAST_FIRST:
                a, b, c, d, e, f = six(owns[AHEAD - 1 - step], others[AHEAD - 1 - step], FOURS)
            else:
                a, b, c, d, e, f = six(owns[step], others[step], FOURS)
            done_0, done_1 = add_row(two_0, two_1, a, b, c, d, w20, w21, w22)
            done_2, done_3 = add_row(two_2, two_3, c, d, e, f, w20, w21, w22)
            if LINES > 0:
                # A row is a word shorter than its LINES of 64. It begins `shift` words into a line, an even number
                # for even steps; what it does not fill waits, and that is its last line where shift is 0.
                shift = word & 63
                lanes = shift >> 1
                line = words + 64 * (word >> 6)
                firsts = lines_of(done_0, done_1, LINES, out_ptr.dtype.element_ty)
                seconds = lines_of(done_2, done_3, LINES, out_ptr.dtype.element_ty)
                for part in tl.static_range(LINES):
                    if step % 2 == 0:
                        moved_0 = tl.gather(firsts[part], (lane - lanes) & 31, 0)
                        moved_1 = tl.gather(seconds[part], (lane - lanes) & 31, 0)
                        full_0 = tl.where(lane >= lanes, moved_0, waiting_0)
                    else:
                        moved_0 = tl.gather(seconds[part], (lane - lanes - 1) & 31, 0)
                        moved_1 = tl.gather(firsts[part], (lane - lanes) & 31, 0)
                        full_0 = tl.where(lane > lanes, moved_0, waiting_0)
                    full = tl.join(full_0, tl.where(lane >= lanes, moved_1, waiting_1))
                    if part == LINES - 1:
                        tl.store(line + 64 * part, full, mask=(lane >= 0)[:, None] & (shift > 0))
                    elif part == 0 and step == 0:
                        # Nothing waits before the first row.
                        tl.store(line, full, mask=(lane >= lanes)[:, None] | (block > 0))
                    else:
                        tl.store(line + 64 * part, full)
                    waiting_0, waiting_1 = moved_0, moved_1
                word += OUT_WORDS
            else:
                done = tl.join(tl.join(done_0, done_2), tl.join(done_1, done_3)).to(out_ptr.dtype.element_ty)
                done = tl.reshape(done, (FOURS, 4))
                tl.store(out_row + step * OUT_WIDTH + own_column, done, mask=own_column < OUT_WIDTH)
            two_0, two_1 = add_row(one_0, one_1, a, b, c, d, w10, w11, w12)
            two_2, two_3 = add_row(one_2, one_3, c, d, e, f, w10, w11, w12)
            one_0, one_1 = add_row(zero, zero, a, b, c, d, w00, w01, w02)
            one_2, one_3 = add_row(zero, zero, c, d, e, f, w00, w01, w02)
        x_row += AHEAD * WIDTH
        out_row += AHEAD * OUT_WIDTH
    if LINES > 0:
        shift = word & 63
        tl.store(words + 64 * (word >> 6), tl.join(waiting_0, waiting_1), mask=(lane < shift // 2)[:, None])


AHEAD = 4
BLOCKS = 4
TALL_BLOCKS = 32
TALL_SHARE = 0.0
"""Part of the planes that is cut into tall strips; they come first."""
PIECES = 0
"""Pieces of a plane that programs with short strips walk down together; 0 for whole planes one after the other."""
ALIGNED = True
LAST_FIRST = True
"""Ask for the last of AHEAD rows first, or the compiler puts most of them off until after the first sums."""
REGISTERS = 128
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
    fours = triton.next_power_of_2(triton.cdiv(out_width, 4))
    aligned = ALIGNED and many and width == 4 * fours and fours >= 64 and x.element_size() == 2
    aligned = aligned and out_height % 2 == 0 and ahead % 2 == 0
    programs = tall_planes * triton.cdiv(out_height, ahead * tall_blocks)
    strips = triton.cdiv(out_height, ahead * blocks)
    pieces = PIECES if many else 0
    programs += (planes - tall_planes) * (triton.cdiv(strips, pieces) * pieces if pieces else strips)
    depthwise_conv2d_kernel[(programs,)](
        x, conv_weight, out, channels, height, out_height, width // 4, planes, tall_planes,
        WIDTH=width, AHEAD=ahead, TALL_BLOCKS=tall_blocks, BLOCKS=blocks, FOURS=fours,
        LINES=fours // 32 if aligned else 0, PIECES=pieces, LAST_FIRST=LAST_FIRST,
        num_warps=1 if many else 4, num_stages=1, maxnreg=REGISTERS if many else None,
    )  # fmt: skip
    return out
