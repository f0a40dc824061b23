"""Log-softmax of rows. Wrong: zeros beyond the edge count as columns."""


@triton.jit
def log_softmax(x_ptr, y_ptr, columns, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * columns
    place = tl.arange(0, BLOCK)
    largest = tl.full((BLOCK,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, columns, BLOCK):
        x = tl.load(x_ptr + start + first + place, mask=first + place < columns, other=float("-inf"))
        largest = tl.maximum(largest, x)
    peak = tl.max(largest, 0)
    for first in range(0, columns, BLOCK):
        inside = first + place < columns
        x = tl.load(x_ptr + start + first + place, mask=inside, other=float("-inf"))  # wrong: x = tl.load(x_ptr + start + first + place, mask=inside, other=0.0)
        total += tl.exp(x - peak)
    log_total = tl.log(tl.sum(total, 0))
    for first in range(0, columns, BLOCK):
        x = tl.load(x_ptr + start + first + place, mask=first + place < columns)
        tl.store(y_ptr + start + first + place, x - peak - log_total, mask=first + place < columns)


def kernel_function(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    log_softmax[(x.shape[0],)](x, y, x.shape[1], BLOCK=128)
    return y
