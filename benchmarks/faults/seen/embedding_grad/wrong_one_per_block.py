# fault: takes only one occurrence (the last) in each block of 32 tokens
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(dy_ptr, token_ptr, out_ptr, count, features, padding, ITEMS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0)
    col = tl.program_id(1) * COLS + tl.arange(0, COLS)
    acc = tl.zeros((COLS,), tl.float32)
    for start in range(0, count, ITEMS):
        item = start + tl.arange(0, ITEMS)
        token = tl.load(token_ptr + item, mask=item < count, other=-1)
        mine = (token == row) & (token != padding)
        mine = mine & (item == tl.max(tl.where(mine, item, -1), axis=0))
        inside = mine[:, None] & (col < features)[None, :]
        dy = tl.load(dy_ptr + item[:, None].to(tl.int64) * features + col[None, :], mask=inside, other=0.0)
        acc += tl.sum(dy.to(tl.float32), axis=0)
    tl.store(out_ptr + row.to(tl.int64) * features + col, acc, mask=col < features)


def kernel_function(dy, tokens, rows, padding):
    dy = dy.contiguous()
    tokens = tokens.contiguous()
    count, features = dy.shape
    out = torch.empty(rows, features, dtype=dy.dtype, device=dy.device)
    kernel[(rows, triton.cdiv(features, 32))](dy, tokens, out, count, features, padding, ITEMS=32, COLS=32)
    return out
