"""The first half of a mixture of experts: the rows of each expert times its two weights, joined by SwiGLU.

Every expert has the same number of rows, as in the collection.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

T_total = 4096
H = 2048
I = 1024  # noqa: E741
E = 64
K = 4

CASES = [dict(name="fast", T_total=4096, H=2048, I=1024, E=64, K=4)]


class Model(nn.Module):
    def __init__(self, T_total, H, I, E, K):  # noqa: E741
        super().__init__()
        self.experts, self.rows = E, T_total * K // E
        self.W_gate = nn.Parameter(torch.randn(E, H, I, dtype=torch.bfloat16) * 0.02)
        self.W_up = nn.Parameter(torch.randn(E, H, I, dtype=torch.bfloat16) * 0.02)

    def forward(self, hidden_states, expert_offsets):
        steps = torch.arange(self.rows, device=expert_offsets.device)
        rows = (expert_offsets[:-1, None] + steps).long()
        gathered = hidden_states[rows]
        gated = F.silu(torch.bmm(gathered, self.W_gate)) * torch.bmm(gathered, self.W_up)
        out = torch.zeros(self.experts * self.rows, gated.shape[-1], dtype=gated.dtype, device=gated.device)
        return out.index_copy(0, rows.flatten(), gated.flatten(0, 1))


def get_inputs():
    hidden_states = torch.randn(T_total * K, H, dtype=torch.bfloat16) * 0.1
    expert_offsets = torch.arange(E + 1, dtype=torch.int32) * (T_total * K // E)
    return [hidden_states, expert_offsets]


def get_init_inputs():
    return [T_total, H, I, E, K]
