"""Cross entropy of every token with label smoothing, and its gradient."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 2
length = 256
vocabulary = 32000

CASES = [
    dict(name="full", batch=2, length=256, vocabulary=32000, dtype="float32"),
    dict(name="odd", held_out=True, batch=3, length=7, vocabulary=1003, dtype="float32"),
    dict(name="small", small=True, batch=2, length=4, vocabulary=37, dtype="float32"),
]

LIBRARY = "any"


smoothing = 0.1


def token_losses(x, target):
    log_p = F.log_softmax(x, -1)
    valid = target != -100
    safe = torch.where(valid, target, 0)
    nll = -log_p.gather(-1, safe[..., None])[..., 0]
    loss = torch.where(valid, (1 - smoothing) * nll - smoothing * log_p.mean(-1), 0)
    wanted = smoothing / x.shape[-1] + (1 - smoothing) * F.one_hot(safe, x.shape[-1]).to(x.dtype)
    return loss, torch.where(valid[..., None], log_p.exp() - wanted, 0), valid.sum().clamp(min=1)


class Model(nn.Module):
    def forward(self, x, target):
        loss, grad, _ = token_losses(x, target)
        return loss, grad


def get_inputs():
    target = torch.randint(0, vocabulary, (batch, length))
    target[0, 0] = -100
    return [torch.randn(batch, length, vocabulary), target]


def get_init_inputs():
    return []
