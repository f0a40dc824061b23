import torch
import torch.nn as nn
import torch.nn.functional as F

RAYS = 32768
SAMPLES = 128


class Model(nn.Module):
    """Volume rendering along rays, with expected/median depth and the mip-NeRF 360 distortion loss."""

    def __init__(self, density_bias=-1.0, rgb_padding=0.001, white_background=True):
        super().__init__()
        self.density_bias = density_bias
        self.rgb_padding = rgb_padding
        self.white_background = white_background

    def forward(self, raw_density, raw_rgb, edges, dirs):
        # raw_density (R, S), raw_rgb (R, S, 3), edges (R, S + 1), dirs (R, 3)
        density = F.softplus(raw_density + self.density_bias)
        rgb = torch.sigmoid(raw_rgb) * (1 + 2 * self.rgb_padding) - self.rgb_padding

        delta = (edges[:, 1:] - edges[:, :-1]) * dirs.norm(dim=-1, keepdim=True)
        tau = density * delta
        alpha = 1 - torch.exp(-tau)
        trans = torch.exp(-torch.cat([torch.zeros_like(tau[:, :1]), torch.cumsum(tau[:, :-1], dim=-1)], dim=-1))
        w = alpha * trans

        acc = w.sum(-1)
        colour = (w[..., None] * rgb).sum(-2)
        if self.white_background:
            colour = colour + (1 - acc)[:, None]

        mid = 0.5 * (edges[:, 1:] + edges[:, :-1])
        depth = (w * mid).sum(-1) / acc.clamp(min=1e-6)
        first = (torch.cumsum(w, -1) < 0.5).sum(-1).clamp(max=mid.shape[-1] - 1)
        median = mid.gather(1, first[:, None]).squeeze(1)

        # O(S) form of sum_ij w_i w_j |m_i - m_j|, since mids are sorted
        wm = w * mid
        cw = torch.cumsum(w, -1) - w
        cwm = torch.cumsum(wm, -1) - wm
        inter = 2 * (wm * cw - w * cwm).sum(-1)
        intra = (w * w * (edges[:, 1:] - edges[:, :-1])).sum(-1) / 3
        return colour, depth, median, acc, (inter + intra).mean()


def get_inputs():
    step = torch.rand(RAYS, SAMPLES + 1) + 0.1
    edges = 0.1 + torch.cumsum(step, -1) / step.sum(-1, keepdim=True) * 6.0
    return [
        torch.randn(RAYS, SAMPLES),
        torch.randn(RAYS, SAMPLES, 3),
        edges,
        torch.randn(RAYS, 3),
    ]


def get_init_inputs():
    return []
