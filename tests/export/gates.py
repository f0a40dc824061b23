"""A module of a user's own package, with nested arguments and a dataclass as its result."""

from __future__ import annotations

import dataclasses

import torch


@dataclasses.dataclass
class Gated:
    hidden: torch.Tensor
    note: str


class Gate(torch.nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.randn(width))

    def forward(self, x: torch.Tensor, pair: tuple[torch.Tensor, torch.Tensor], flag: bool = True) -> Gated:
        gate, shift = pair
        y = x * self.scale if flag else x
        return Gated((y + shift) * torch.sigmoid(gate), "plain")
