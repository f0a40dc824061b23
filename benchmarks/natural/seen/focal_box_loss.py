"""Training loss of a dense detector: focal loss on all anchors and a smooth L1 loss on the boxes of positive ones.

The backward is part of the problem.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

GRADIENTS = True

images = 8
anchors = 32736
classes = 20


class Model(nn.Module):
    def __init__(self, num_classes, alpha=0.25, gamma=2.0, beta=1.0 / 9, box_weight=1.0):
        super().__init__()
        self.num_classes = num_classes
        self.alpha, self.gamma = alpha, gamma
        self.beta, self.box_weight = beta, box_weight

    def focal(self, logits, targets):
        ce = F.binary_cross_entropy_with_logits(logits, targets, reduction="none")
        p = torch.sigmoid(logits)
        p_t = p * targets + (1 - p) * (1 - targets)
        alpha_t = self.alpha * targets + (1 - self.alpha) * (1 - targets)
        return alpha_t * (1 - p_t) ** self.gamma * ce

    def forward(self, logits, boxes, labels, box_targets):
        """labels: (images, anchors); num_classes is the background, and -1 an anchor that is ignored."""
        positive = (labels >= 0) & (labels < self.num_classes)
        counted = labels >= 0
        one_hot = F.one_hot(labels.clamp(min=0), self.num_classes + 1)[..., :-1].to(logits.dtype)
        normalizer = positive.sum().clamp(min=1)
        cls_loss = (self.focal(logits, one_hot) * counted.unsqueeze(-1)).sum() / normalizer
        distance = F.smooth_l1_loss(boxes, box_targets, beta=self.beta, reduction="none").sum(-1)
        box_loss = (distance * positive).sum() / normalizer
        return cls_loss + self.box_weight * box_loss


def get_inputs():
    labels = torch.full((images, anchors), classes)
    chance = torch.rand(images, anchors)
    labels = torch.where(chance < 0.05, torch.randint(0, classes, (images, anchors)), labels)
    labels = torch.where(chance > 0.97, -torch.ones_like(labels), labels)
    return [
        torch.randn(images, anchors, classes),
        torch.randn(images, anchors, 4),
        labels,
        torch.randn(images, anchors, 4),
    ]


def get_init_inputs():
    return [classes]
