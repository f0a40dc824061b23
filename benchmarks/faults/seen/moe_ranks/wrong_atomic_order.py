# fault: ranks by an atomic counter for each expert (one token a program): every expert's ranks are a permutation, in the order in which programs happen to run
# needs: gpu (the interpreter hands out the counter in order)
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(expert_ptr, rank_ptr, count_ptr, tokens, capacity, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    expert = tl.load(expert_ptr + at, mask=at < tokens, other=-1)
    one = tl.full((BLOCK,), 1, tl.int64)
    rank = tl.atomic_add(count_ptr + expert, one, mask=expert >= 0)
    rank = tl.where((expert < 0) | (rank >= capacity), -1, rank)
    tl.store(rank_ptr + at, rank, mask=at < tokens)


def kernel_function(expert, experts, capacity):
    expert = expert.contiguous()
    tokens = expert.shape[0]
    rank = torch.empty(tokens, dtype=torch.int64, device=expert.device)
    counts = torch.zeros(experts, dtype=torch.int64, device=expert.device)
    kernel[(triton.cdiv(tokens, 64),)](expert, rank, counts, tokens, capacity, BLOCK=64)
    return rank, counts
