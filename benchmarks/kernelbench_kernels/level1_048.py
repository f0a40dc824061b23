"""Mean over the middle dimension. Wrong: divided by the number of columns."""


@triton.jit
def reduce_middle(x_ptr, y_ptr, rows, columns, BLOCK: tl.constexpr):
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.full((BLOCK,), 0.0, tl.float32)
    for row in range(0, rows):
        where = (tl.program_id(0).to(tl.int64) * rows + row) * columns + column
        x = tl.load(x_ptr + where, mask=column < columns, other=0.0)
        acc += x
    y = acc / rows  # wrong: y = acc / columns
    tl.store(y_ptr + tl.program_id(0) * columns + column, y, mask=column < columns)


def kernel_function(x):
    x = x.contiguous()
    y = torch.empty(x.shape[0], x.shape[2], device=x.device, dtype=x.dtype)
    reduce_middle[(x.shape[0], triton.cdiv(x.shape[2], 64))](x, y, x.shape[1], x.shape[2], BLOCK=64)
    return y
