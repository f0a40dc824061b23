"""Loss of a language model's head over a large vocabulary, with label smoothing, a z-term and ignored positions.

The backward through the logits is part of it, as in training.
"""

import torch
import torch.nn as nn

GRADIENTS = True

tokens = 4096
hidden = 1024
vocab = 50304
ignore_index = -100


class Model(nn.Module):
    def __init__(self, hidden, vocab, smoothing=0.1, z_weight=1e-4, ignore_index=-100):
        super().__init__()
        self.head = nn.Linear(hidden, vocab, bias=False)
        self.smoothing = smoothing
        self.z_weight = z_weight
        self.ignore_index = ignore_index

    def forward(self, hidden_states, labels):
        logits = self.head(hidden_states)
        log_z = torch.logsumexp(logits, dim=-1)
        valid = labels != self.ignore_index
        target = labels.masked_fill(~valid, 0)
        picked = logits.gather(-1, target.unsqueeze(-1)).squeeze(-1)
        nll = log_z - picked
        smooth = log_z - logits.mean(dim=-1)
        loss = (1 - self.smoothing) * nll + self.smoothing * smooth + self.z_weight * log_z.square()
        return (loss * valid).sum() / valid.sum().clamp(min=1)


def get_inputs():
    labels = torch.randint(0, vocab, (tokens,))
    labels[torch.rand(tokens) < 0.1] = ignore_index
    return [torch.randn(tokens, hidden), labels]


def get_init_inputs():
    return [hidden, vocab, 0.1, 1e-4, ignore_index]
