# fault: takes the first expert out by setting its score to zero: where all other scores are negative it is chosen again
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, b_ptr, w_ptr, i_ptr, experts, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    e = tl.arange(0, BLOCK)
    inside = e < experts
    x = tl.load(x_ptr + row.to(tl.int64) * experts + e, mask=inside, other=float("-inf")).to(tl.float32)
    b = tl.load(b_ptr + e, mask=inside, other=0.0).to(tl.float32)
    p = tl.exp(x - tl.max(x, axis=0))
    p = p / tl.sum(p, axis=0)
    score = tl.where(inside, p + b, float("-inf"))
    top = tl.max(score, axis=0)
    first = tl.min(tl.where(score == top, e, BLOCK), axis=0)
    score = tl.where(e == first, 0.0, score)
    top = tl.max(score, axis=0)
    second = tl.min(tl.where(score == top, e, BLOCK), axis=0)
    p1 = tl.sum(tl.where(e == first, p, 0.0), axis=0)
    p2 = tl.sum(tl.where(e == second, p, 0.0), axis=0)
    total = p1 + p2 + 1e-20
    tl.store(w_ptr + row * 2, p1 / total)
    tl.store(w_ptr + row * 2 + 1, p2 / total)
    tl.store(i_ptr + row * 2, first.to(tl.int64))
    tl.store(i_ptr + row * 2 + 1, second.to(tl.int64))


def kernel_function(logits, bias):
    logits = logits.contiguous()
    bias = bias.contiguous()
    tokens, experts = logits.shape
    weights = torch.empty(tokens, 2, dtype=torch.float32, device=logits.device)
    chosen = torch.empty(tokens, 2, dtype=torch.int64, device=logits.device)
    kernel[(tokens,)](logits, bias, weights, chosen, experts, BLOCK=triton.next_power_of_2(experts))
    return weights, chosen
