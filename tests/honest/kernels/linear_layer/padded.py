"""The wrapper pads to whole tiles, the kernel needs no masks, the result is cut out."""

import torch.nn.functional as F
import triton
import triton.language as tl

TILE = 16


@triton.jit
def whole_tiles(x_ptr, w_ptr, b_ptr, y_ptr, given, taken, TILE: tl.constexpr):
    m = (tl.program_id(0) * TILE + tl.arange(0, TILE))[:, None]
    n = (tl.program_id(1) * TILE + tl.arange(0, TILE))[None, :]
    acc = tl.zeros((TILE, TILE), tl.float32) + tl.load(b_ptr + n)
    for start in range(0, taken, TILE):
        k = start + tl.arange(0, TILE)
        acc += tl.dot(
            tl.load(x_ptr + m * taken + k[None, :]), tl.load(w_ptr + n * taken + k[:, None]), input_precision="ieee"
        )
    tl.store(y_ptr + m * given + n, acc)


def up(size: int) -> int:
    return (size + TILE - 1) // TILE * TILE


def kernel_function(x, weight, bias):
    rows, taken, given = x.shape[0], x.shape[1], weight.shape[0]
    x = F.pad(x, (0, up(taken) - taken, 0, up(rows) - rows))
    weight = F.pad(weight, (0, up(taken) - taken, 0, up(given) - given))
    bias = F.pad(bias, (0, up(given) - given))
    y = x.new_empty(up(rows), up(given))
    whole_tiles[(up(rows) // TILE, up(given) // TILE)](x, weight, bias, y, up(given), up(taken), TILE=TILE)
    return y[:rows, :given].contiguous()
