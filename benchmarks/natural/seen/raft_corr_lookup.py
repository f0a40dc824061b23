import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """RAFT: all-pairs correlation pyramid and the windowed lookup around the current flow."""

    def __init__(self, levels, radius):
        super().__init__()
        self.levels = levels
        self.radius = radius

    def sample(self, img, coords):
        H, W = img.shape[-2:]
        x, y = coords.split([1, 1], dim=-1)
        x = 2 * x / (W - 1) - 1
        y = 2 * y / (H - 1) - 1
        return F.grid_sample(img, torch.cat([x, y], dim=-1), align_corners=True)

    def forward(self, fmap1, fmap2, coords):
        B, C, H, W = fmap1.shape
        corr = torch.matmul(fmap1.view(B, C, H * W).transpose(1, 2), fmap2.view(B, C, H * W))
        corr = corr.view(B * H * W, 1, H, W) / math.sqrt(C)
        pyramid = [corr]
        for _ in range(self.levels - 1):
            corr = F.avg_pool2d(corr, 2, stride=2)
            pyramid.append(corr)

        r = self.radius
        d = torch.linspace(-r, r, 2 * r + 1, device=coords.device)
        delta = torch.stack(torch.meshgrid(d, d, indexing="ij"), dim=-1).view(1, 2 * r + 1, 2 * r + 1, 2)
        center = coords.permute(0, 2, 3, 1).reshape(B * H * W, 1, 1, 2)
        out = []
        for i, c in enumerate(pyramid):
            s = self.sample(c, center / 2 ** i + delta)
            out.append(s.view(B, H, W, -1))
        return torch.cat(out, dim=-1).permute(0, 3, 1, 2).contiguous()


batch = 2
channels = 256
height = 55
width = 128
levels = 4
radius = 4


def get_inputs():
    fmap1 = torch.randn(batch, channels, height, width)
    fmap2 = torch.randn(batch, channels, height, width)
    y, x = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    coords = torch.stack([x, y]).float()[None].repeat(batch, 1, 1, 1) + 6.0 * torch.randn(batch, 2, height, width)
    return [fmap1, fmap2, coords]


def get_init_inputs():
    return [levels, radius]
