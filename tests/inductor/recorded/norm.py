"""A reduction over rows that are looped over, with what follows it."""

import torch


class Model(torch.nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(dim))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x / x.norm(dim=1, keepdim=True) * self.weight)


def get_inputs(rows: int = 12, dim: int = 1500) -> list[torch.Tensor]:
    return [torch.randn(rows, dim)]


def get_init_inputs(dim: int = 1500) -> list[int]:
    return [dim]


CASES = [{"name": "large"}, {"name": "small", "small": True, "rows": 3, "dim": 37}]
