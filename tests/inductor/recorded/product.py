"""A product, by the library or by a template, with what follows it."""

import torch


class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.relu(x @ y)


def get_inputs(rows: int = 40, inner: int = 24, columns: int = 56) -> list[torch.Tensor]:
    return [torch.randn(rows, inner), torch.randn(inner, columns)]


def get_init_inputs() -> list[int]:
    return []


CASES = [{"name": "large"}, {"name": "small", "small": True, "rows": 3, "inner": 5, "columns": 7}]
