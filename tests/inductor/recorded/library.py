"""A library call with several results."""

import torch


class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.topk(5)[0].exp() + x.cumsum(1).amax(1, keepdim=True)


def get_inputs(rows: int = 12, dim: int = 70) -> list[torch.Tensor]:
    return [torch.randn(rows, dim)]


def get_init_inputs() -> list[int]:
    return []


CASES = [{"name": "large"}, {"name": "small", "small": True, "rows": 3, "dim": 11}]
