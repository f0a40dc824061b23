"""Multi-resolution hash encoding of Instant NGP: trilinear interpolation of features hashed at the corners of each level."""

import torch
import torch.nn as nn

n_levels = 16
n_features = 2
log2_table = 19
base_res = 16
max_res = 2048


class Model(nn.Module):
    def __init__(self, n_levels, n_features, log2_table, base_res, max_res):
        super().__init__()
        self.size = 2**log2_table
        b = (max_res / base_res) ** (1 / (n_levels - 1))
        self.resolutions = [int(base_res * b**i) for i in range(n_levels)]
        self.tables = nn.Parameter(torch.randn(n_levels, self.size, n_features) * 0.1)
        self.register_buffer("primes", torch.tensor([1, 2654435761, 805459861]))
        corners = torch.tensor([[i >> 2 & 1, i >> 1 & 1, i & 1] for i in range(8)])
        self.register_buffer("corners", corners)

    def forward(self, x):
        outs = []
        for level, res in enumerate(self.resolutions):
            pos = x * res
            low = torch.floor(pos)
            frac = pos - low
            idx = low.long()[:, None, :] + self.corners
            h = idx * self.primes
            h = (h[..., 0] ^ h[..., 1] ^ h[..., 2]) % self.size
            feats = self.tables[level][h]
            w = torch.where(self.corners.bool(), frac[:, None, :], 1 - frac[:, None, :]).prod(-1)
            outs.append((feats * w[..., None]).sum(1))
        return torch.cat(outs, dim=-1)


CASES = [dict(name="ray_batch", num_points=262_144)]


def get_inputs(num_points=262_144):
    return [torch.rand(num_points, 3)]


def get_init_inputs():
    return [n_levels, n_features, log2_table, base_res, max_res]
