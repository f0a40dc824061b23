"""Head of an anchor-free one-stage detector: the same towers run on every level of a feature pyramid, and scores, boxes
and centre-ness of all levels are concatenated."""

import torch
import torch.nn as nn

batch = 4
channels = 256
classes = 80
finest = 100
levels = 4


def tower(channels, depth, groups=32):
    layers = []
    for _ in range(depth):
        layers += [nn.Conv2d(channels, channels, 3, padding=1), nn.GroupNorm(groups, channels), nn.ReLU()]
    return nn.Sequential(*layers)


class Model(nn.Module):
    def __init__(self, channels, classes, levels, depth=2):
        super().__init__()
        self.cls_tower = tower(channels, depth)
        self.box_tower = tower(channels, depth)
        self.cls_logits = nn.Conv2d(channels, classes, 3, padding=1)
        self.box_reg = nn.Conv2d(channels, 4, 3, padding=1)
        self.centerness = nn.Conv2d(channels, 1, 3, padding=1)
        self.scales = nn.Parameter(torch.ones(levels))

    def forward(self, features):
        scores, boxes = [], []
        for level, feature in enumerate(features):
            cls_feature = self.cls_tower(feature)
            box_feature = self.box_tower(feature)
            cls = self.cls_logits(cls_feature).sigmoid()
            centre = self.centerness(box_feature).sigmoid()
            distances = torch.relu(self.box_reg(box_feature) * self.scales[level]) * 2 ** (level + 3)
            scores.append(torch.sqrt(cls * centre).flatten(2).transpose(1, 2))
            boxes.append(distances.flatten(2).transpose(1, 2))
        return torch.cat(scores, dim=1), torch.cat(boxes, dim=1)


def get_inputs():
    sizes = [finest // 2**level for level in range(levels)]
    return [[torch.randn(batch, channels, size, size) for size in sizes]]


def get_init_inputs():
    return [channels, classes, levels]
