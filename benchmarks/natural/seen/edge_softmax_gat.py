"""Graph attention: a score for every edge, a softmax over the edges that enter a node, and the weighted sum of the
neighbours, for several heads."""

import torch
import torch.nn as nn
import torch.nn.functional as F

num_nodes = 50000
num_edges = 800000
in_features = 128
heads = 4
out_features = 32


class Model(nn.Module):
    def __init__(self, in_features, out_features, heads, negative_slope=0.2):
        super().__init__()
        self.heads, self.out_features = heads, out_features
        self.negative_slope = negative_slope
        self.lin = nn.Linear(in_features, heads * out_features, bias=False)
        self.att_src = nn.Parameter(torch.randn(heads, out_features) * out_features**-0.5)
        self.att_dst = nn.Parameter(torch.randn(heads, out_features) * out_features**-0.5)
        self.bias = nn.Parameter(torch.zeros(heads * out_features))

    def forward(self, x, edge_index):
        """x: (nodes, in_features); edge_index: (2, edges), from and to."""
        n = x.shape[0]
        src, dst = edge_index
        h = self.lin(x).view(n, self.heads, self.out_features)
        score = (h * self.att_src).sum(-1)[src] + (h * self.att_dst).sum(-1)[dst]
        score = F.leaky_relu(score, self.negative_slope)

        index = dst.unsqueeze(-1).expand_as(score)
        highest = score.new_full((n, self.heads), float("-inf")).scatter_reduce(0, index, score, reduce="amax")
        score = torch.exp(score - highest[dst])
        total = score.new_zeros(n, self.heads).index_add(0, dst, score)
        alpha = score / (total[dst] + 1e-16)

        messages = h[src] * alpha.unsqueeze(-1)
        out = torch.zeros_like(h).index_add(0, dst, messages)
        return F.elu(out.flatten(1) + self.bias)


def get_inputs():
    return [torch.randn(num_nodes, in_features), torch.randint(0, num_nodes, (2, num_edges))]


def get_init_inputs():
    return [in_features, out_features, heads]
