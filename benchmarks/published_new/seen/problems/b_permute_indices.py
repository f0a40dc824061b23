"""Places of tokens after they are sorted by expert, each expert's part padded to a multiple of 8; -1 in the padding."""

import torch
import torch.nn as nn

ranks = 8
experts = 16
most = 64

CASES = [
    dict(name="full", ranks=8, experts=16, most=64, dtype="float32"),
    dict(name="odd", held_out=True, ranks=3, experts=5, most=20, dtype="float32"),
    dict(name="small", small=True, ranks=2, experts=3, most=9, dtype="float32"),
]

LIBRARY = "any"


class Model(nn.Module):
    def forward(self, counts, experts, length):
        table = counts.view(-1, experts)
        totals = table.sum(0)
        sizes = (totals.clamp(min=8) + 7) // 8 * 8
        ends = sizes.cumsum(0)
        at = torch.arange(length, device=counts.device)
        expert = torch.searchsorted(ends, at, right=True).clamp(max=experts - 1)
        local = at - (ends - sizes)[expert]
        rank_ends = table.cumsum(0).t()[expert]
        rank = (rank_ends <= local[:, None]).sum(1).clamp(max=table.shape[0] - 1)
        before = rank_ends.gather(1, rank[:, None])[:, 0] - table[rank, expert]
        starts = (counts.cumsum(0) - counts).view(-1, experts)[rank, expert]
        filled = (local < totals[expert]) & (at < ends[-1])
        places = torch.where(filled, starts + local - before, -1)
        return places.to(torch.int32), sizes.to(torch.int32), ends.to(torch.int32)


def get_inputs():
    counts = torch.randint(0, most, (ranks * experts,))
    return [counts, experts, ranks * experts * most + experts * 8]


def get_init_inputs():
    return []
