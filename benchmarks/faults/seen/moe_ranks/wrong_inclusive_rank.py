# fault: ranks from one
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(expert_ptr, rank_ptr, count_ptr, tokens, capacity, BLOCK: tl.constexpr):
    mine = tl.program_id(0)
    total = 0
    for start in range(0, tokens, BLOCK):
        at = start + tl.arange(0, BLOCK)
        expert = tl.load(expert_ptr + at, mask=at < tokens, other=-1)
        hot = (expert == mine).to(tl.int32)
        rank = total + tl.cumsum(hot, axis=0)
        rank = tl.where(rank >= capacity, -1, rank)
        tl.store(rank_ptr + at, rank.to(tl.int64), mask=hot != 0)
        if mine == 0:
            tl.store(rank_ptr + at, (hot * 0 - 1).to(tl.int64), mask=(at < tokens) & (expert < 0))
        total += tl.sum(hot, axis=0)
    tl.store(count_ptr + mine, total.to(tl.int64))


def kernel_function(expert, experts, capacity):
    expert = expert.contiguous()
    tokens = expert.shape[0]
    rank = torch.empty(tokens, dtype=torch.int64, device=expert.device)
    counts = torch.empty(experts, dtype=torch.int64, device=expert.device)
    kernel[(experts,)](expert, rank, counts, tokens, capacity, BLOCK=64)
    return rank, counts
