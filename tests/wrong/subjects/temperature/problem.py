"""x over a temperature that is a buffer."""

import torch
import torch.nn as nn

rows = 6


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("temperature", torch.ones(40))

    def forward(self, x):
        return torch.sin(x) / self.temperature


CASES = [dict(name="small", dtype="float32", small=True), dict(name="timed", dtype="float32", rows=64)]


def get_inputs():
    return [torch.randn(rows, 40)]


def get_init_inputs():
    return []
