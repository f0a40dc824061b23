"""Super-resolution tail: residual blocks with channel attention, a pixel shuffle, and a bicubic copy of the input that
is added at the end."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 8
height = 180
width = 320


class ChannelAttentionBlock(nn.Module):
    def __init__(self, features, reduction):
        super().__init__()
        self.conv1 = nn.Conv2d(features, features, 3, padding=1)
        self.conv2 = nn.Conv2d(features, features, 3, padding=1)
        self.squeeze = nn.Linear(features, features // reduction)
        self.excite = nn.Linear(features // reduction, features)

    def forward(self, x):
        y = self.conv2(F.leaky_relu(self.conv1(x), 0.1))
        weights = self.excite(F.relu(self.squeeze(y.mean((-2, -1))))).sigmoid()
        return x + 0.2 * y * weights[:, :, None, None]


class Model(nn.Module):
    def __init__(self, features=64, scale=2, blocks=2, reduction=16):
        super().__init__()
        self.scale = scale
        self.head = nn.Conv2d(3, features, 3, padding=1)
        self.body = nn.Sequential(*[ChannelAttentionBlock(features, reduction) for _ in range(blocks)])
        self.tail = nn.Conv2d(features, 3 * scale * scale, 3, padding=1)
        self.half()

    def forward(self, image):
        x = self.head(image)
        x = x + self.body(x)
        residual = F.pixel_shuffle(self.tail(x), self.scale)
        base = F.interpolate(image, scale_factor=self.scale, mode="bicubic", align_corners=False)
        return (base + residual).clamp(-1.0, 1.0)


def get_inputs():
    return [0.5 * torch.randn(batch_size, 3, height, width, dtype=torch.float16)]


def get_init_inputs():
    return [64, 2]
