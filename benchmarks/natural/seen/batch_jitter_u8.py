"""Augment a batch of uint8 images on the GPU: flip, brightness, contrast, saturation, normalise, to NCHW half."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1))
        self.register_buffer("std", torch.tensor([0.229, 0.224, 0.225]).view(1, 3, 1, 1))
        self.register_buffer("luma", torch.tensor([0.299, 0.587, 0.114]).view(1, 3, 1, 1))

    def forward(self, images, flip, brightness, contrast, saturation):
        x = images.permute(0, 3, 1, 2).float() / 255.0
        x = torch.where(flip[:, None, None, None], x.flip(-1), x)
        x = (x * brightness[:, None, None, None]).clamp(0, 1)
        gray_mean = (x * self.luma).sum(1, keepdim=True).mean(dim=(2, 3), keepdim=True)
        c = contrast[:, None, None, None]
        x = (c * x + (1 - c) * gray_mean).clamp(0, 1)
        gray = (x * self.luma).sum(1, keepdim=True)
        s = saturation[:, None, None, None]
        x = (s * x + (1 - s) * gray).clamp(0, 1)
        return ((x - self.mean) / self.std).half()


CASES = [
    dict(name="imagenet", batch=256, height=224, width=224),
    dict(name="fhd_frames", batch=12, height=1080, width=1920),
]


def get_inputs(batch=256, height=224, width=224):
    return [
        torch.randint(0, 256, (batch, height, width, 3), dtype=torch.uint8),
        torch.rand(batch) < 0.5,
        torch.empty(batch).uniform_(0.6, 1.4),
        torch.empty(batch).uniform_(0.6, 1.4),
        torch.empty(batch).uniform_(0.6, 1.4),
    ]


def get_init_inputs():
    return []
