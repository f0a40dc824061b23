"""EdgeConv of DGCNN: for each point the maximum over its neighbours of an MLP of (x_j - x_i, x_i)."""

import torch
import torch.nn as nn

batch_size = 32
num_points = 1024
in_channels = 64
out_channels = 64
k = 20


class Model(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv2d(2 * in_channels, out_channels, 1, bias=False)
        self.bn = nn.BatchNorm2d(out_channels)
        self.act = nn.LeakyReLU(0.2)

    def forward(self, x, idx):
        B, C, N = x.shape
        K = idx.shape[-1]
        base = torch.arange(B, device=x.device).view(B, 1, 1) * N
        flat = (idx + base).view(-1)
        xt = x.transpose(1, 2).contiguous()
        neigh = xt.view(B * N, C)[flat].view(B, N, K, C)
        center = xt.view(B, N, 1, C).expand(-1, -1, K, -1)
        feat = torch.cat((neigh - center, center), dim=3).permute(0, 3, 1, 2)
        return self.act(self.bn(self.conv(feat))).max(dim=-1)[0]


CASES = [
    dict(name="modelnet"),
    dict(name="partseg", batch_size=16, num_points=2048, k=40),
]


def get_inputs():
    return [
        torch.randn(batch_size, in_channels, num_points),
        torch.randint(0, num_points, (batch_size, num_points, k)),
    ]


def get_init_inputs():
    return [in_channels, out_channels]
