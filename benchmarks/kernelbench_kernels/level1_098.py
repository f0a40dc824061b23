"""Kullback-Leibler divergence, mean over the batch. Wrong: the mean over all elements."""


@triton.jit
def partial_sums(p_ptr, t_ptr, y_ptr, count, rows, BLOCK: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = place < count
    p = tl.load(p_ptr + place, mask=inside, other=1.0)
    t = tl.load(t_ptr + place, mask=inside, other=1.0)
    value = tl.where(t > 0, t * (tl.log(t) - tl.log(p)), 0.0)
    total = tl.sum(tl.where(inside, value, 0.0), 0)
    tl.store(y_ptr + tl.program_id(0), total / rows)  # wrong: tl.store(y_ptr + tl.program_id(0), total / count)


def kernel_function(predictions, targets):
    predictions, targets = predictions.contiguous(), targets.contiguous()
    count = predictions.numel()
    partial = torch.empty(triton.cdiv(count, 1024), device=predictions.device, dtype=predictions.dtype)
    partial_sums[(partial.numel(),)](predictions, targets, partial, count, predictions.shape[0], BLOCK=1024)
    return partial.sum()
