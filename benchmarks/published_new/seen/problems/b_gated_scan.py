"""State that each step is multiplied by a gate and gets an input, with gradients."""

import torch
import torch.nn as nn

batch = 4
channels = 256
steps = 512

CASES = [
    dict(name="full", batch=4, channels=256, steps=512, dtype="float32"),
    dict(name="odd", held_out=True, batch=1, channels=5, steps=101, dtype="float32"),
    dict(name="small", small=True, batch=2, channels=3, steps=37, dtype="float32"),
]

GRADIENTS = True


class Model(nn.Module):
    def forward(self, forget, x):
        state = torch.zeros_like(x[..., 0])
        states = []
        for t in range(x.shape[-1]):
            state = forget[..., t] * state + x[..., t]
            states.append(state)
        return torch.stack(states, -1)


def get_inputs():
    return [torch.rand(batch, channels, steps), torch.randn(batch, channels, steps)]


def get_init_inputs():
    return []
