"""Results of attention over ranges of parts as one for each range, by their logarithmic sums (base two)."""

import torch
import torch.nn as nn

ranges = 256
parts = 4
heads = 16
width = 128

CASES = [
    dict(name="full", ranges=256, parts=4, heads=16, width=128, dtype="float32"),
    dict(name="odd", ranges=33, parts=3, heads=3, width=80, dtype="float32", held_out=True),
    dict(name="small", small=True, ranges=9, parts=2, heads=2, width=4, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, v, s, indptr):
        part = torch.arange(v.shape[0], device=v.device)
        owner = (part[:, None] >= indptr[1:]).sum(1)
        belongs = owner == torch.arange(indptr.shape[0] - 1, device=v.device)[:, None]
        sums = torch.where(belongs[..., None], s, float("-inf"))
        top = sums.amax(1, keepdim=True)
        weight = torch.exp2(sums - top)
        total = weight.sum(1)
        merged = torch.einsum("rph,phd->rhd", weight, v) / total[..., None]
        return merged, torch.log2(total) + top[:, 0]


def get_inputs():
    return [
        torch.randn(ranges * parts, heads, width),
        torch.randn(ranges * parts, heads),
        torch.arange(ranges + 1, dtype=torch.int32) * parts,
    ]


def get_init_inputs():
    return []
