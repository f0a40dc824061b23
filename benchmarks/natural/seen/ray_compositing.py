"""Volume rendering along rays: densities become opacities, opacities are composited front to back, and colour, depth
and accumulated opacity of each ray are returned. Neural radiance fields end with this."""

import torch
import torch.nn as nn
import torch.nn.functional as F

rays = 32768
samples = 128


class Model(nn.Module):
    def __init__(self, near: float = 2.0, far: float = 6.0, white_background: bool = True):
        super().__init__()
        self.near = near
        self.far = far
        self.white_background = white_background

    def forward(self, raw, depths, directions):
        """raw: (rays, samples, 4) as colour and density; depths: (rays, samples), ascending; directions: (rays, 3)."""
        rgb = torch.sigmoid(raw[..., :3])
        density = F.softplus(raw[..., 3] - 1.0)
        gaps = depths[:, 1:] - depths[:, :-1]
        gaps = torch.cat((gaps, gaps[:, -1:]), dim=1)
        gaps = gaps * directions.norm(dim=-1, keepdim=True)

        optical = density * gaps
        alpha = 1.0 - torch.exp(-optical)
        before = torch.cumsum(optical, dim=1) - optical
        weights = alpha * torch.exp(-before)

        colour = (weights.unsqueeze(-1) * rgb).sum(dim=1)
        opacity = weights.sum(dim=1)
        depth = (weights * depths).sum(dim=1) / opacity.clamp(min=1e-6)
        depth = depth.clamp(self.near, self.far)
        if self.white_background:
            colour = colour + (1.0 - opacity).unsqueeze(-1)
        return colour, depth, opacity


def get_inputs():
    depths = 2.0 + 4.0 * torch.sort(torch.rand(rays, samples), dim=1).values
    return [torch.randn(rays, samples, 4), depths, torch.randn(rays, 3)]


def get_init_inputs():
    return []
