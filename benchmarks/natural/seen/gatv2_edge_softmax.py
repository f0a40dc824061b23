import torch
import torch.nn as nn
import torch.nn.functional as F

NODES = 100_000
EDGES = 800_000
IN_DIM = 128
EDGE_DIM = 16
HEADS = 4
OUT_DIM = 32


def segment_softmax(score, index, num_segments):
    h = score.shape[1]
    idx = index.unsqueeze(-1).expand(-1, h)
    mx = torch.full((num_segments, h), float("-inf"), device=score.device, dtype=score.dtype)
    mx = mx.scatter_reduce(0, idx, score, reduce="amax", include_self=True)
    e = torch.exp(score - mx.index_select(0, index))
    denom = torch.zeros((num_segments, h), device=score.device, dtype=score.dtype).scatter_add(0, idx, e)
    return e / (denom.index_select(0, index) + 1e-16)


class Model(nn.Module):
    """GATv2 convolution with edge features, heads concatenated."""

    def __init__(self, in_dim, edge_dim, heads, out_dim, slope=0.2):
        super().__init__()
        self.heads, self.out_dim, self.slope = heads, out_dim, slope
        self.lin_l = nn.Linear(in_dim, heads * out_dim)
        self.lin_r = nn.Linear(in_dim, heads * out_dim)
        self.lin_e = nn.Linear(edge_dim, heads * out_dim, bias=False)
        self.att = nn.Parameter(torch.randn(1, heads, out_dim) * 0.2)
        self.bias = nn.Parameter(torch.zeros(heads * out_dim))

    def forward(self, x, edge_index, edge_attr):
        n = x.size(0)
        src, dst = edge_index[0], edge_index[1]
        xl = self.lin_l(x).view(n, self.heads, self.out_dim)
        xr = self.lin_r(x).view(n, self.heads, self.out_dim)
        ee = self.lin_e(edge_attr).view(-1, self.heads, self.out_dim)

        xj = xl[src]
        z = F.leaky_relu(xj + xr[dst] + ee, self.slope)
        alpha = segment_softmax((z * self.att).sum(-1), dst, n)

        out = torch.zeros_like(xl).index_add_(0, dst, xj * alpha.unsqueeze(-1))
        return F.elu(out.flatten(1) + self.bias)


def get_inputs():
    return [
        torch.randn(NODES, IN_DIM),
        torch.randint(0, NODES, (2, EDGES)),
        torch.rand(EDGES, EDGE_DIM),
    ]


def get_init_inputs():
    return [IN_DIM, EDGE_DIM, HEADS, OUT_DIM]
