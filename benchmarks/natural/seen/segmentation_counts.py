"""Metrics of a segmentation network over a validation batch: the confusion matrix, the overlap of each class, their
mean over the classes that occur, and the pixel accuracy."""

import torch
import torch.nn as nn

batch_size = 16
num_classes = 19
height = 512
width = 1024
ignore_label = 255


class Model(nn.Module):
    def __init__(self, num_classes, ignore_label=255):
        super().__init__()
        self.num_classes = num_classes
        self.ignore_label = ignore_label

    def forward(self, logits, labels):
        prediction = logits.argmax(dim=1)
        valid = labels != self.ignore_label
        pair = labels * self.num_classes + prediction
        pair = torch.where(valid, pair, self.num_classes**2).flatten()
        counts = torch.bincount(pair, minlength=self.num_classes**2 + 1)[:-1]
        confusion = counts.view(self.num_classes, self.num_classes)

        hits = confusion.diagonal().float()
        union = confusion.sum(0).float() + confusion.sum(1).float() - hits
        present = union > 0
        iou = torch.where(present, hits / union.clamp(min=1), torch.zeros_like(hits))
        mean_iou = iou.sum() / present.sum().clamp(min=1)
        accuracy = hits.sum() / confusion.sum().clamp(min=1)
        return confusion, iou, mean_iou, accuracy


def get_inputs():
    labels = torch.randint(0, num_classes, (batch_size, height, width))
    labels = torch.where(torch.rand(batch_size, height, width) < 0.02, ignore_label, labels)
    return [torch.randn(batch_size, num_classes, height, width), labels]


def get_init_inputs():
    return [num_classes, ignore_label]
