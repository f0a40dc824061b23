"""Parts of one tensor that two kernels write, memory that is used again, and a view as an output."""

import torch


class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.cat([x.sum(1), x.amax(1)]), (x.t() @ x).softmax(1).t()


def get_inputs(rows: int = 12, dim: int = 70) -> list[torch.Tensor]:
    return [torch.randn(rows, dim)]


def get_init_inputs() -> list[int]:
    return []


CASES = [{"name": "large"}, {"name": "small", "small": True, "rows": 3, "dim": 11}]
