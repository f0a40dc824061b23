import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 16
num_points = 2048
num_centers = 512
nsample = 32
radius = 0.4
in_channels = 61
mlp = [64, 64, 128]


class Model(nn.Module):
    """PointNet++ set abstraction around given centers: ball query, grouping, shared MLP, maximum."""

    def __init__(self, radius, nsample, in_channels, mlp):
        super().__init__()
        self.radius = radius
        self.nsample = nsample
        self.convs = nn.ModuleList()
        self.bns = nn.ModuleList()
        last = in_channels + 3
        for out in mlp:
            self.convs.append(nn.Conv2d(last, out, 1))
            self.bns.append(nn.BatchNorm2d(out))
            last = out

    def forward(self, xyz, feats, center_idx):
        B, N, _ = xyz.shape
        batch = torch.arange(B, device=xyz.device)[:, None]
        new_xyz = xyz[batch, center_idx]
        d = ((new_xyz[:, :, None] - xyz[:, None]) ** 2).sum(-1)
        idx = torch.arange(N, device=xyz.device).expand(B, new_xyz.shape[1], N)
        idx = torch.where(d > self.radius**2, N, idx)
        idx = idx.sort(dim=-1)[0][:, :, : self.nsample]
        first = idx[:, :, :1].expand_as(idx)
        idx = torch.where(idx == N, first, idx)
        b = batch[:, :, None]
        grouped = torch.cat((xyz[b, idx] - new_xyz[:, :, None], feats[b, idx]), dim=-1)
        x = grouped.permute(0, 3, 2, 1)
        for conv, bn in zip(self.convs, self.bns):
            x = F.relu(bn(conv(x)))
        return new_xyz, x.max(dim=2)[0]


def get_inputs():
    center_idx = torch.stack([torch.randperm(num_points)[:num_centers] for _ in range(batch_size)])
    return [
        torch.randn(batch_size, num_points, 3),
        torch.randn(batch_size, num_points, in_channels),
        center_idx,
    ]


def get_init_inputs():
    return [radius, nsample, in_channels, mlp]
