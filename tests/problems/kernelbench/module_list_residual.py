import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width: int, depth: int):
        super(Model, self).__init__()  # noqa: UP008
        self.layers = nn.ModuleList([nn.Linear(width, width, bias=False) for _ in range(depth)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = x + torch.tanh(layer(x))
        return x


WIDTH, DEPTH = 32, 3


def get_inputs():
    x = torch.rand(8, WIDTH)
    return [x]


def get_init_inputs():
    return [WIDTH, DEPTH]
