"""Gradients of logits scaled by the gradient of each token's loss, in place."""

import torch
import torch.nn as nn

batch = 2
length = 256
vocabulary = 32000

CASES = [
    dict(name="full", batch=2, length=256, vocabulary=32000, dtype="float32"),
    dict(name="odd", held_out=True, batch=3, length=7, vocabulary=1003, dtype="float32"),
    dict(name="small", small=True, batch=2, length=4, vocabulary=37, dtype="float32"),
]

MUTATES = ("grad",)


class Model(nn.Module):
    def forward(self, grad, factor):
        grad.mul_(factor[..., None])


def get_inputs():
    return [torch.randn(batch, length, vocabulary), torch.randn(batch, length)]


def get_init_inputs():
    return []
