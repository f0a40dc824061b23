"""Boxes from a detector's regression output, and their overlap with the labelled boxes.

Assigners need this matrix in every training step; the generalised form also tells apart boxes that do not touch.
"""

import math

import torch
import torch.nn as nn

images = 8
anchors = 8732
targets = 64


def area(boxes):
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])


class Model(nn.Module):
    def __init__(self, image_size=512.0, variances=(0.1, 0.2)):
        super().__init__()
        self.image_size = image_size
        self.variances = variances
        self.max_log = math.log(1000.0 / 16)

    def decode(self, deltas, anchors):
        centre_var, size_var = self.variances
        centre = anchors[:, :2] + deltas[..., :2] * centre_var * anchors[:, 2:]
        size = anchors[:, 2:] * torch.exp((deltas[..., 2:] * size_var).clamp(max=self.max_log))
        boxes = torch.cat((centre - size / 2, centre + size / 2), dim=-1)
        return boxes.clamp(0, self.image_size)

    def forward(self, deltas, anchors, targets):
        """deltas: (images, anchors, 4); anchors: (anchors, 4) as centre and size; targets: (images, targets, 4)."""
        boxes = self.decode(deltas, anchors)
        a, b = boxes[:, :, None], targets[:, None]
        low = torch.maximum(a[..., :2], b[..., :2])
        high = torch.minimum(a[..., 2:], b[..., 2:])
        inter = (high - low).clamp(min=0).prod(dim=-1)
        union = area(a) + area(b) - inter
        iou = inter / (union + 1e-6)
        hull = torch.maximum(a[..., 2:], b[..., 2:]) - torch.minimum(a[..., :2], b[..., :2])
        hull_area = hull.prod(dim=-1)
        giou = iou - (hull_area - union) / (hull_area + 1e-6)
        return boxes, iou.amax(dim=2), giou


def get_inputs():
    anchor_boxes = torch.cat((512 * torch.rand(anchors, 2), 16 + 200 * torch.rand(anchors, 2)), dim=1)
    corner = 400 * torch.rand(images, targets, 2)
    target_boxes = torch.cat((corner, corner + 8 + 100 * torch.rand(images, targets, 2)), dim=-1)
    return [torch.randn(images, anchors, 4), anchor_boxes, target_boxes]


def get_init_inputs():
    return [512.0]
