"""Sixteen tokens per program, with the sum online over blocks of the vocabulary."""

import torch
import triton
import triton.language as tl


@triton.jit
def logsumexp_kernel(
    hidden_ptr, weight_ptr, out_ptr, tokens, features, vocabulary,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    token = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    largest = tl.full((ROWS,), float("-inf"), tl.float32)
    total = tl.zeros((ROWS,), tl.float32)
    for start in range(0, vocabulary, COLUMNS):
        word = start + tl.arange(0, COLUMNS)
        logit = tl.zeros((ROWS, COLUMNS), tl.float32)
        for begin in range(0, features, DEPTH):
            feature = begin + tl.arange(0, DEPTH)
            known = (token[:, None] < tokens) & (feature[None, :] < features)
            hidden = tl.load(hidden_ptr + token[:, None] * features + feature[None, :], mask=known, other=0.0)
            known = (word[None, :] < vocabulary) & (feature[:, None] < features)
            place = word.to(tl.int64)[None, :] * features + feature[:, None]
            weight = tl.load(weight_ptr + place, mask=known, other=0.0)
            logit = tl.dot(hidden, weight, logit, input_precision="ieee")
        logit = tl.where(word[None, :] < vocabulary, logit, float("-inf"))
        larger = tl.maximum(largest, tl.max(logit, axis=1))
        total = total * tl.exp(largest - larger) + tl.sum(tl.exp(logit - larger[:, None]), axis=1)
        largest = larger
    tl.store(out_ptr + token, largest + tl.log(total), mask=token < tokens)


def kernel_function(hidden, weight):
    hidden, weight = hidden.contiguous(), weight.contiguous()
    tokens, features = hidden.shape
    out = torch.empty((tokens,), dtype=hidden.dtype, device=hidden.device)
    logsumexp_kernel[(triton.cdiv(tokens, 16),)](
        hidden, weight, out, tokens, features, weight.shape[0], ROWS=16, COLUMNS=256, DEPTH=32
    )
    return out
