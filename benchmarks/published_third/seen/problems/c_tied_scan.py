"""A state that is drawn to its input by one minus a gate."""

import torch
import torch.nn as nn

batch = 8
steps = 512
channels = 512

CASES = [
    dict(name="full", batch=8, steps=512, channels=512, dtype="float32"),
    dict(name="odd", held_out=True, batch=1, steps=77, channels=256, dtype="float32"),
    dict(name="small", small=True, batch=2, steps=9, channels=256, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, v, f):
        gate = f
        state = torch.zeros_like(v[:, 0])
        states = []
        for t in range(v.shape[1]):
            state = (state - v[:, t]) * gate[:, t] + v[:, t]
            states.append(state)
        return torch.stack(states, 1)


def get_inputs():
    return [torch.randn(batch, steps, channels), torch.rand(batch, steps, channels)]


def get_init_inputs():
    return []
