"""Sizes that are computed from others: channels of a group, a side after a window, a root."""

import torch


class Model(torch.nn.Module):
    def __init__(self, channels: int, groups: int) -> None:
        super().__init__()
        self.norm = torch.nn.GroupNorm(groups, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.max_pool1d(self.norm(x), 3, 2) * x.shape[1] ** -0.5


def get_inputs(batch: int = 6, channels: int = 32, side: int = 50) -> list[torch.Tensor]:
    return [torch.randn(batch, channels, side)]


def get_init_inputs(channels: int = 32, groups: int = 8) -> list[int]:
    return [channels, groups]


CASES = [{"name": "large"}, {"name": "small", "small": True, "batch": 3, "channels": 16, "side": 8}]
