"""States after the accepted tokens copied to the states of decoding requests, in place."""

import torch
import torch.nn as nn

layers = 8
slots = 64
guesses = 3
requests = 32
channels = 64
width = 128

CASES = [
    dict(name="full", layers=8, slots=64, guesses=3, requests=32, channels=64, width=128, dtype="float16"),
    dict(name="odd", held_out=True, layers=3, slots=12, guesses=2, requests=7, channels=9, width=130, dtype="float32"),
    dict(name="small", small=True, layers=2, slots=6, guesses=3, requests=4, channels=3, width=10, dtype="float32"),
]

MUTATES = ("states",)


class Model(nn.Module):
    def forward(self, steps, states, prefill, slot, accepted):
        chosen = steps[:, slot.long(), accepted.long()]
        old = states[:, slot.long()]
        states[:, slot.long()] = torch.where((prefill == 1)[None, :, None, None], old, chosen)


def get_inputs():
    return [
        torch.randn(layers, slots, guesses + 1, channels, width),
        torch.randn(layers, slots, channels, width),
        torch.randint(0, 2, (requests,), dtype=torch.int32),
        torch.randperm(slots)[:requests].to(torch.int32),
        torch.randint(0, guesses + 1, (requests,)),
    ]


def get_init_inputs():
    return []
