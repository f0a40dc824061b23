"""Decoding of a keypoint or centre heatmap: local maxima by max pooling, the best of all classes, and boxes from the
offset and size maps at these places."""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 16
CLASSES = 80
HEIGHT = 128
WIDTH = 128


class Model(nn.Module):
    def __init__(self, top_k: int = 100, kernel: int = 3, stride: float = 4.0):
        super().__init__()
        self.top_k = top_k
        self.kernel = kernel
        self.stride = stride

    def forward(self, heatmap: torch.Tensor, offset: torch.Tensor, size: torch.Tensor):
        """heatmap: (batch, classes, h, w) logits; offset, size: (batch, 2, h, w)."""
        h, w = heatmap.shape[-2:]
        scores = torch.sigmoid(heatmap)
        peaks = F.max_pool2d(scores, self.kernel, stride=1, padding=self.kernel // 2)
        scores = scores * (peaks == scores)

        values, flat = torch.topk(scores.flatten(1), self.top_k, dim=1)
        label = flat // (h * w)
        cell = flat % (h * w)
        index = cell.unsqueeze(1).expand(-1, 2, -1)
        shift = offset.flatten(2).gather(2, index)
        extent = F.softplus(size.flatten(2).gather(2, index))
        x = (cell % w).to(shift.dtype) + shift[:, 0]
        y = (cell // w).to(shift.dtype) + shift[:, 1]
        half_w, half_h = extent[:, 0] / 2, extent[:, 1] / 2
        boxes = torch.stack((x - half_w, y - half_h, x + half_w, y + half_h), dim=-1) * self.stride
        return boxes, values, label


def get_inputs():
    return [
        torch.randn(BATCH, CLASSES, HEIGHT, WIDTH),
        torch.randn(BATCH, 2, HEIGHT, WIDTH),
        torch.randn(BATCH, 2, HEIGHT, WIDTH),
    ]


def get_init_inputs():
    return [100]
