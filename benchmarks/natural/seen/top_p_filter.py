"""What a server does to logits before it samples: repetition penalty, temperature and the nucleus of probability.

Returns renormalised probabilities; the draw itself is left to the caller.
"""

import torch
import torch.nn as nn

batch_size = 64
vocab_size = 128256
history = 512


class Model(nn.Module):
    def __init__(self, repetition_penalty=1.15):
        super().__init__()
        self.repetition_penalty = repetition_penalty

    def penalize(self, logits, previous):
        seen = torch.gather(logits, 1, previous)
        seen = torch.where(seen < 0, seen * self.repetition_penalty, seen / self.repetition_penalty)
        return logits.scatter(1, previous, seen)

    def forward(self, logits, previous, temperature, top_p):
        """logits: (batch, vocab); previous: (batch, history) token ids; temperature, top_p: (batch,)."""
        logits = self.penalize(logits, previous)
        logits = logits / temperature.clamp(min=1e-4).unsqueeze(1)
        ordered, indices = torch.sort(logits, dim=-1, descending=True)
        probs = torch.softmax(ordered, dim=-1)
        before = probs.cumsum(dim=-1) - probs
        drop = before > top_p.unsqueeze(1)
        probs = probs.masked_fill(drop, 0.0)
        probs = probs / probs.sum(dim=-1, keepdim=True)
        return torch.zeros_like(probs).scatter(1, indices, probs)


def get_inputs():
    return [
        2.0 * torch.randn(batch_size, vocab_size),
        torch.randint(0, vocab_size, (batch_size, history)),
        0.5 + torch.rand(batch_size),
        0.7 + 0.3 * torch.rand(batch_size),
    ]


def get_init_inputs():
    return [1.15]
