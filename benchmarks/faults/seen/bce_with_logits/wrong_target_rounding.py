# fault: rounds targets to 0 or 1 by t >= 0.5
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, t_ptr, pos_ptr, w_ptr, out_ptr, n, cols, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
    t = tl.load(t_ptr + at, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + at, mask=inside, other=0.0).to(tl.float32)
    p = tl.load(pos_ptr + at % cols, mask=inside, other=0.0).to(tl.float32)
    # softplus(-x) = log(1 + exp(-|x|)) + max(-x, 0); the logarithm by a series where 1 + e would lose e
    e = tl.exp(-tl.abs(x))
    small = e * (1.0 - e * (0.5 - e * (1.0 / 3.0 - e * 0.25)))
    softplus = tl.where(e < 0.01, small, tl.log(1.0 + e)) + tl.maximum(-x, 0.0)
    t = tl.where(t >= 0.5, 1.0, 0.0)
    loss = (1.0 - t) * x + (1.0 + (p - 1.0) * t) * softplus
    tl.store(out_ptr + at, loss * w, mask=inside)


def kernel_function(logits, targets, pos_weight, weight):
    logits = logits.contiguous()
    targets = targets.contiguous()
    pos_weight = pos_weight.contiguous()
    weight = weight.contiguous()
    out = torch.empty_like(logits)
    n = logits.numel()
    kernel[(triton.cdiv(n, 256),)](logits, targets, pos_weight, weight, out, n, logits.shape[1], BLOCK=256)
    return out
