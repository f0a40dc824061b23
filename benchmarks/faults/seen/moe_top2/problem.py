"""Mixture-of-experts gate: softmax over experts, the two largest probabilities renormalised to sum one, and their experts.

Logits are distinct within a row (as random reals are); experts come in order of falling probability, as int64. A bias is added for the
choice of experts only, not for the weights."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, logits, bias):
        p = torch.softmax(logits.float() if logits.dtype != torch.float64 else logits, -1)
        chosen = torch.topk(p + bias, 2, dim=-1).indices
        w = p.gather(1, chosen)
        return w / (w.sum(-1, keepdim=True) + 1e-20), chosen


CASES = [
    dict(name="large", dtype="float32", tokens=65536, experts=64),
    dict(name="odd", dtype="float32", held_out=True, tokens=1001, experts=17),
    dict(name="small", dtype="float32", small=True, tokens=30, experts=8),
    dict(name="many", dtype="float32", small=True, tokens=13, experts=60),
    dict(name="two", dtype="float32", small=True, tokens=20, experts=2),
]


def get_inputs(tokens=65536, experts=64):
    return [torch.randn(tokens, experts) * 2, torch.randn(experts) * 0.2]


def get_init_inputs():
    return []
