"""Graph attention in COO form: attention logits for each edge, softmax over incoming edges, weighted sum to targets."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, heads, channels):
        super().__init__()
        self.att_src = nn.Parameter(torch.randn(1, heads, channels) * 0.2)
        self.att_dst = nn.Parameter(torch.randn(1, heads, channels) * 0.2)

    def forward(self, x, edge_index):
        n, heads, channels = x.shape
        src, dst = edge_index[0], edge_index[1]
        a_src = (x * self.att_src).sum(-1)
        a_dst = (x * self.att_dst).sum(-1)
        e = F.leaky_relu(a_src[src] + a_dst[dst], 0.2)
        idx = dst[:, None].expand(-1, heads)
        m = torch.full((n, heads), float("-inf"), device=x.device, dtype=x.dtype)
        m = m.scatter_reduce(0, idx, e, reduce="amax")
        e = torch.exp(e - m[dst])
        z = torch.zeros(n, heads, device=x.device, dtype=x.dtype).scatter_add(0, idx, e)
        alpha = e / (z[dst] + 1e-16)
        out = torch.zeros_like(x)
        out.index_add_(0, dst, alpha[..., None] * x[src])
        return out


CASES = [
    dict(name="arxiv", dtype="float32", nodes=169_343, edges=1_166_243, heads=8, channels=16),
    dict(name="pubmed", dtype="float32", nodes=19_717, edges=88_648, heads=8, channels=8),
]


def get_inputs(nodes=169_343, edges=1_166_243, heads=8, channels=16):
    return [torch.randn(nodes, heads, channels), torch.randint(0, nodes, (2, edges))]


def get_init_inputs(heads=8, channels=16):
    return [heads, channels]
