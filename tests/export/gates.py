"""Modules of a user's own package: nested arguments and a dataclass as a result; and state that is no parameter."""

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

    def forward(self, state: torch.Tensor, pair: tuple[torch.Tensor, torch.Tensor], flag: bool = True) -> Gated:
        gate, shift = pair
        y = state * self.scale if flag else state
        return Gated((y + shift) * torch.sigmoid(gate), "plain")


class Norm(torch.nn.Module):
    """Running statistics, a result with other strides, and a value that calls keep for later ones until training."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(width)
        self.shift = torch.nn.Parameter(torch.randn(width))
        self.kept: dict[str, torch.Tensor] = {}

    def train(self, mode: bool = True) -> Norm:
        self.kept = {} if mode else self.kept
        return super().train(mode)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if "shift" not in self.kept:
            self.kept["shift"] = self.shift * 2
        return (self.norm(x) + self.kept["shift"][:, None]).mT
