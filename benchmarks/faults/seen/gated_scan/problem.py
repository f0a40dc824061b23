"""Linear recurrence h[t] = a[t] * h[t-1] + b[t] over time for each channel, restarting from zero where `reset[t]` is set.

a is in [-1, 1], b is any finite number; resets are arbitrary, also none and also at every step. `h0` is the state before
the first step, which a reset at step 0 drops."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b, reset, h0):
        h, out = h0, []
        for t in range(a.shape[1]):
            h = torch.where(reset[:, t, None], torch.zeros_like(h), h)
            h = a[:, t] * h + b[:, t]
            out.append(h)
        return torch.stack(out, 1), h


CASES = [
    dict(name="large", dtype="float32", batch=16, steps=128, channels=4096),
    dict(name="odd", dtype="float32", held_out=True, batch=3, steps=65, channels=333),
    dict(name="small", dtype="float32", small=True, batch=3, steps=20, channels=37),
    dict(name="long", dtype="float32", small=True, batch=2, steps=50, channels=16),
]


def get_inputs(batch=16, steps=128, channels=4096):
    a = torch.tanh(torch.randn(batch, steps, channels) + 1)
    reset = torch.rand(batch, steps) < 0.05
    return [a, torch.randn(batch, steps, channels), reset, torch.randn(batch, channels)]


def get_init_inputs():
    return []
