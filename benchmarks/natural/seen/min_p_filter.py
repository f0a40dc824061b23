"""Temperature, repetition penalty and min-p filter on next-token logits, then probabilities to sample from."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, penalty):
        super().__init__()
        self.penalty = penalty

    def forward(self, logits, seen, temperature, min_p):
        logits = torch.where(
            seen,
            torch.where(logits > 0, logits / self.penalty, logits * self.penalty),
            logits,
        )
        logits = logits / temperature[:, None]
        probs = torch.softmax(logits, dim=-1)
        top = probs.amax(dim=-1, keepdim=True)
        keep = probs >= min_p[:, None] * top
        logits = logits.masked_fill(~keep, float("-inf"))
        return torch.softmax(logits, dim=-1)


CASES = [
    dict(name="llama3_vocab", dtype="float32", batch=64, vocab=128256),
    dict(name="gpt2_vocab", dtype="float32", batch=256, vocab=50257),
]


def get_inputs(batch=64, vocab=128256):
    return [
        torch.randn(batch, vocab) * 3,
        torch.rand(batch, vocab) < 0.01,
        torch.rand(batch) + 0.5,
        torch.rand(batch) * 0.1 + 0.02,
    ]


def get_init_inputs():
    return [1.1]
