"""Signed distance from many points to a scene of spheres, boxes and a floor, joined with a smooth minimum.

Collision costs of motion planners and sphere tracers evaluate such scenes.
"""

import torch
import torch.nn as nn

points = 262144
spheres = 24
boxes = 16


class Model(nn.Module):
    def __init__(self, sharpness: float = 32.0, margin: float = 0.05):
        super().__init__()
        self.sharpness = sharpness
        self.margin = margin

    @staticmethod
    def sphere_distance(p, centres, radii):
        return torch.linalg.vector_norm(p[:, None] - centres, dim=-1) - radii

    @staticmethod
    def box_distance(p, centres, halves):
        d = (p[:, None] - centres).abs() - halves
        outside = torch.linalg.vector_norm(d.clamp(min=0.0), dim=-1)
        inside = d.amax(dim=-1).clamp(max=0.0)
        return outside + inside

    def forward(self, p, sphere_centres, radii, box_centres, halves):
        """p: (points, 3). Out: the signed distance, and the cost of being within the margin."""
        distances = torch.cat(
            (
                self.sphere_distance(p, sphere_centres, radii),
                self.box_distance(p, box_centres, halves),
                p[:, 2:] + 1.0,
            ),
            dim=1,
        )
        smooth = -torch.logsumexp(-self.sharpness * distances, dim=1) / self.sharpness
        depth = self.margin - smooth
        cost = torch.where(depth > self.margin, depth - 0.5 * self.margin, depth.clamp(min=0) ** 2 / (2 * self.margin))
        return smooth, cost


def get_inputs():
    return [
        torch.randn(points, 3),
        torch.randn(spheres, 3),
        0.1 + 0.2 * torch.rand(spheres),
        torch.randn(boxes, 3),
        0.1 + 0.2 * torch.rand(boxes, 3),
    ]


def get_init_inputs():
    return [32.0]
