"""Boxes that overlap no box of a higher score by more than a half."""

import torch
import torch.nn as nn

boxes = 1000

CASES = [
    dict(name="full", boxes=1000, dtype="float32"),
    dict(name="odd", held_out=True, boxes=77, dtype="float32"),
    dict(name="small", small=True, boxes=9, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, boxes, scores):
        order = scores.argsort(descending=True, stable=True)
        sorted_boxes = boxes[order]
        area = (sorted_boxes[:, 2] - sorted_boxes[:, 0]) * (sorted_boxes[:, 3] - sorted_boxes[:, 1])
        low = torch.maximum(sorted_boxes[:, None, :2], sorted_boxes[None, :, :2])
        high = torch.minimum(sorted_boxes[:, None, 2:], sorted_boxes[None, :, 2:])
        shared = (high - low).clamp(min=0).prod(-1)
        over = shared / (area[:, None] + area[None] - shared) > 0.5
        keep = torch.ones_like(scores, dtype=torch.bool)
        for i in range(keep.shape[0]):
            keep &= ~(over[i] & keep[i] & (torch.arange(keep.shape[0], device=keep.device) > i))
        return order[keep]


def get_inputs():
    corner = torch.rand(boxes, 2) * 100
    return [torch.cat([corner, corner + torch.rand(boxes, 2) * 50 + 1], 1), torch.rand(boxes)]


def get_init_inputs():
    return []
