"""Cross-entropy. Wrong: the maximum is not subtracted."""


@triton.jit
def row_losses(x_ptr, t_ptr, y_ptr, rows, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    place = tl.arange(0, BLOCK)
    largest = tl.full((BLOCK,), float("-inf"), tl.float32)
    for first in range(0, columns, BLOCK):
        x = tl.load(x_ptr + row * columns + first + place, mask=first + place < columns, other=float("-inf"))
        largest = tl.maximum(largest, x)
    peak = tl.max(largest, 0)  # wrong: peak = 0.0
    total = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, columns, BLOCK):
        x = tl.load(x_ptr + row * columns + first + place, mask=first + place < columns, other=float("-inf"))
        total += tl.exp(x - peak)
    picked = tl.load(x_ptr + row * columns + tl.load(t_ptr + row))
    tl.store(y_ptr + row, (tl.log(tl.sum(total, 0)) + peak - picked) / rows)


def kernel_function(predictions, targets):
    predictions = predictions.contiguous()
    rows, columns = predictions.shape
    losses = torch.empty(rows, device=predictions.device, dtype=predictions.dtype)
    row_losses[(rows,)](predictions, targets.contiguous(), losses, rows, columns, BLOCK=64)
    return losses.sum()
