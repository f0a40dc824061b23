"""Intersection over union of all pairs of boxes (x0, y0, x1, y1) with x1 >= x0 and y1 >= y0; 0 where the union is empty.

Boxes may be degenerate (no area), disjoint, nested or touching. Coordinates are finite, of any sign."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        low = torch.maximum(a[:, None, :2], b[None, :, :2])
        high = torch.minimum(a[:, None, 2:], b[None, :, 2:])
        side = (high - low).clamp(min=0)
        common = side[..., 0] * side[..., 1]
        area_a = (a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1])
        area_b = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
        union = area_a[:, None] + area_b[None] - common
        return torch.where(union > 0, common / torch.where(union > 0, union, 1.0), 0.0)


CASES = [
    dict(name="large", dtype="float32", n=4096, m=4096),
    dict(name="odd", dtype="float32", held_out=True, n=333, m=77),
    dict(name="small", dtype="float32", small=True, n=20, m=37),
    dict(name="one", dtype="float32", small=True, n=1, m=90),
]


def _boxes(n):
    corner = torch.randn(n, 2) * 2
    return torch.cat([corner, corner + torch.randn(n, 2).abs() * 2], 1)


def get_inputs(n=4096, m=4096):
    a, b = _boxes(n), _boxes(m)
    a[::7, 2] = a[::7, 0]
    b[::5, 2:] = b[::5, :2]
    return [a, b]


def get_init_inputs():
    return []
