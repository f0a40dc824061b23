"""Triplet margin loss. Wrong: the distance's epsilon is left out."""


@triton.jit
def row_losses(a_ptr, p_ptr, n_ptr, y_ptr, rows, columns, margin, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    eps = 1e-6  # wrong: eps = 0.0
    near = tl.zeros((BLOCK,), tl.float32)
    far = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, columns, BLOCK):
        place = first + tl.arange(0, BLOCK)
        inside = place < columns
        a = tl.load(a_ptr + row * columns + place, mask=inside, other=0.0)
        p = a - tl.load(p_ptr + row * columns + place, mask=inside, other=0.0) + eps
        n = a - tl.load(n_ptr + row * columns + place, mask=inside, other=0.0) + eps
        near += tl.where(inside, p * p, 0.0)
        far += tl.where(inside, n * n, 0.0)
    loss = tl.maximum(margin + tl.sqrt(tl.sum(near, 0)) - tl.sqrt(tl.sum(far, 0)), 0.0)
    tl.store(y_ptr + row, loss / rows)


def kernel_function(anchor, positive, negative, margin):
    anchor, positive, negative = anchor.contiguous(), positive.contiguous(), negative.contiguous()
    rows, columns = anchor.shape
    losses = torch.empty(rows, device=anchor.device, dtype=anchor.dtype)
    row_losses[(rows,)](anchor, positive, negative, losses, rows, columns, margin, BLOCK=64)
    return losses.sum()
