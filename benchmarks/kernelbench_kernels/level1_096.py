"""Smooth L1 loss. Wrong: the linear part does not meet the quadratic one."""


@triton.jit
def partial_sums(p_ptr, t_ptr, y_ptr, count, rows, BLOCK: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = place < count
    p = tl.load(p_ptr + place, mask=inside, other=1.0)
    t = tl.load(t_ptr + place, mask=inside, other=1.0)
    far = tl.abs(p - t)
    value = tl.where(far < 1.0, 0.5 * far * far, far - 0.5)  # wrong: value = tl.where(far < 1.0, 0.5 * far * far, far)
    total = tl.sum(tl.where(inside, value, 0.0), 0)
    tl.store(y_ptr + tl.program_id(0), total / count)


def kernel_function(predictions, targets):
    predictions, targets = predictions.contiguous(), targets.contiguous()
    count = predictions.numel()
    partial = torch.empty(triton.cdiv(count, 1024), device=predictions.device, dtype=predictions.dtype)
    partial_sums[(partial.numel(),)](predictions, targets, partial, count, predictions.shape[0], BLOCK=1024)
    return partial.sum()
