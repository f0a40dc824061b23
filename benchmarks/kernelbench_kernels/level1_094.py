"""Mean squared error. Wrong: the mean over whole blocks, not over the elements there are."""


@triton.jit
def partial_sums(p_ptr, t_ptr, y_ptr, count, rows, BLOCK: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = place < count
    p = tl.load(p_ptr + place, mask=inside, other=1.0)
    t = tl.load(t_ptr + place, mask=inside, other=1.0)
    value = (p - t) * (p - t)
    total = tl.sum(tl.where(inside, value, 0.0), 0)
    tl.store(y_ptr + tl.program_id(0), total / count)  # wrong: tl.store(y_ptr + tl.program_id(0), total / ((count + BLOCK - 1) // BLOCK * BLOCK))


def kernel_function(predictions, targets):
    predictions, targets = predictions.contiguous(), targets.contiguous()
    count = predictions.numel()
    partial = torch.empty(triton.cdiv(count, 1024), device=predictions.device, dtype=predictions.dtype)
    partial_sums[(partial.numel(),)](predictions, targets, partial, count, predictions.shape[0], BLOCK=1024)
    return partial.sum()
