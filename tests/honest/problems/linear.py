"""Two linear layers with a ReLU between them, in an nn.Sequential."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, features))

    def forward(self, x):
        return self.layers(x)


CASES = [
    {"name": "timed", "dtype": "float32", "rows": 131, "features": 30, "hidden": 45},
    {"name": "ragged", "dtype": "float32", "small": True, "rows": 9, "features": 20, "hidden": 33},
]


def get_inputs(rows=131, features=30):
    return [torch.randn(rows, features)]


def get_init_inputs(features=30, hidden=45):
    return [features, hidden]
