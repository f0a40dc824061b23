import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """He et al. guided filter with a colour guide (matting / depth refinement)."""

    def __init__(self, radius, eps):
        super().__init__()
        self.radius = radius
        self.eps = eps

    def box(self, x):
        r = self.radius
        x = F.avg_pool2d(x, (2 * r + 1, 1), stride=1, padding=(r, 0), count_include_pad=False)
        return F.avg_pool2d(x, (1, 2 * r + 1), stride=1, padding=(0, r), count_include_pad=False)

    def forward(self, guide, src):
        mean_i = self.box(guide)
        mean_p = self.box(src)
        cov_ip = self.box(guide * src) - mean_i * mean_p

        r, g, b = guide[:, 0:1], guide[:, 1:2], guide[:, 2:3]
        mr, mg, mb = mean_i[:, 0:1], mean_i[:, 1:2], mean_i[:, 2:3]
        rr = self.box(r * r) - mr * mr + self.eps
        rg = self.box(r * g) - mr * mg
        rb = self.box(r * b) - mr * mb
        gg = self.box(g * g) - mg * mg + self.eps
        gb = self.box(g * b) - mg * mb
        bb = self.box(b * b) - mb * mb + self.eps

        # inverse of the symmetric 3x3 covariance by cofactors
        irr = gg * bb - gb * gb
        irg = gb * rb - rg * bb
        irb = rg * gb - gg * rb
        igg = rr * bb - rb * rb
        igb = rb * rg - rr * gb
        ibb = rr * gg - rg * rg
        det = irr * rr + irg * rg + irb * rb
        cr, cg, cb = cov_ip[:, 0:1], cov_ip[:, 1:2], cov_ip[:, 2:3]
        a = torch.cat([irr * cr + irg * cg + irb * cb,
                       irg * cr + igg * cg + igb * cb,
                       irb * cr + igb * cg + ibb * cb], dim=1) / det
        c = mean_p - (a * mean_i).sum(1, keepdim=True)
        return (self.box(a) * guide).sum(1, keepdim=True) + self.box(c)


batch = 3
height = 1080
width = 1917
radius = 8


def get_inputs():
    guide = torch.rand(batch, 3, height, width)
    src = torch.rand(batch, 1, height, width)
    return [guide, src]


def get_init_inputs():
    return [radius, 1e-2]
