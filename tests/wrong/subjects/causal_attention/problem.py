"""One head of causal attention over 8 positions; rows are heads."""

import torch
import torch.nn as nn

rows = 2


class Model(nn.Module):
    def forward(self, q, k, v):
        scores = q @ k.mT * 0.25
        keep = torch.ones(8, 8, dtype=torch.bool, device=q.device).tril()
        return torch.softmax(scores.masked_fill(~keep, float("-inf")), dim=-1) @ v


CASES = [dict(name="small", dtype="float32", small=True), dict(name="timed", dtype="float32", rows=16)]


def get_inputs():
    return [torch.randn(rows, 8, 16), torch.randn(rows, 8, 16), torch.randn(rows, 8, 16)]


def get_init_inputs():
    return []
