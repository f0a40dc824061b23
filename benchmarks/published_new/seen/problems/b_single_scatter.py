"""One token times the matrices of its experts."""

import torch
import torch.nn as nn

experts = 8
topk = 4
inner = 4096
cols = 4096

CASES = [
    dict(name="full", experts=8, topk=4, inner=4096, cols=4096, dtype="float32"),
    dict(name="odd", held_out=True, experts=5, topk=3, inner=256, cols=384, dtype="float32"),
    dict(name="small", small=True, experts=4, topk=2, inner=128, cols=256, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x, weight, expert):
        return (x[0][None, :, None] * weight[expert[0]]).sum(1)


def get_inputs():
    return [torch.randn(1, inner), torch.randn(experts, inner, cols), torch.randint(0, experts, (1, topk))]


def get_init_inputs():
    return []
