"""Chamfer distance of two point clouds with a normal consistency term, as in mesh reconstruction."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, normal_weight):
        super().__init__()
        self.normal_weight = normal_weight

    def forward(self, p, q, np_, nq):
        d = torch.cdist(p, q, compute_mode="donot_use_mm_for_euclid_dist") ** 2
        dp, ip = d.min(dim=2)
        dq, iq = d.min(dim=1)
        nq_of_p = torch.gather(nq, 1, ip[..., None].expand(-1, -1, 3))
        np_of_q = torch.gather(np_, 1, iq[..., None].expand(-1, -1, 3))
        cos_p = 1 - torch.cosine_similarity(np_, nq_of_p, dim=-1).abs()
        cos_q = 1 - torch.cosine_similarity(nq, np_of_q, dim=-1).abs()
        dist = dp.mean(1) + dq.mean(1)
        normal = cos_p.mean(1) + cos_q.mean(1)
        return dist + self.normal_weight * normal


CASES = [
    dict(name="sampled_meshes", dtype="float32", batch=16, n=5000, m=5000),
    dict(name="uneven", dtype="float32", batch=32, n=2048, m=4000),
]


def get_inputs(batch=16, n=5000, m=5000):
    return [torch.randn(batch, n, 3), torch.randn(batch, m, 3), torch.randn(batch, n, 3), torch.randn(batch, m, 3)]


def get_init_inputs():
    return [0.1]
