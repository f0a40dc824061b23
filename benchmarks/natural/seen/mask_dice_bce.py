"""Mask2Former's pairwise matching cost of predicted and true masks: sigmoid BCE and dice over sampled points."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, w_mask, w_dice):
        super().__init__()
        self.w_mask = w_mask
        self.w_dice = w_dice

    def forward(self, pred, target):
        n = pred.shape[-1]
        pos = F.softplus(-pred)
        neg = F.softplus(pred)
        bce = torch.einsum("bqn,bmn->bqm", pos, target) + torch.einsum("bqn,bmn->bqm", neg, 1 - target)
        bce = bce / n
        p = pred.sigmoid()
        num = 2 * torch.einsum("bqn,bmn->bqm", p, target)
        den = p.sum(-1)[:, :, None] + target.sum(-1)[:, None, :]
        dice = 1 - (num + 1) / (den + 1)
        return self.w_mask * bce + self.w_dice * dice


CASES = [
    dict(name="coco", dtype="float32", batch=16, queries=100, targets=40, points=12544),
    dict(name="dense", dtype="float32", batch=4, queries=300, targets=117, points=12544),
]


def get_inputs(batch=16, queries=100, targets=40, points=12544):
    return [torch.randn(batch, queries, points) * 2, (torch.rand(batch, targets, points) < 0.2).float()]


def get_init_inputs():
    return [5.0, 5.0]
