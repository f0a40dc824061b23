"""MobileNetV2 inverted residual (64 channels, expansion 6, 3x3 depthwise, 14x14), norms as scale and shift, fp16."""
import torch
import torch.nn.functional as F

IMAGES = 128
CHANNELS = 64
EXPAND = 6
RES = 14


def affine(n):
    scale = torch.rand(n, 1, 1) + 0.5
    shift = torch.randn(n, 1, 1) * 0.1
    return torch.nn.Parameter(torch.stack((scale, shift)).to(torch.float16))


class Model(torch.nn.Module):
    def __init__(self, c, t):
        super().__init__()
        h = c * t
        self.expand = torch.nn.Parameter((torch.randn(h, c, 1, 1) * (2 / c) ** 0.5).to(torch.float16))
        self.depthwise = torch.nn.Parameter((torch.randn(h, 1, 3, 3) * (2 / 9) ** 0.5).to(torch.float16))
        self.project = torch.nn.Parameter((torch.randn(c, h, 1, 1) * (1 / h) ** 0.5).to(torch.float16))
        self.bn1, self.bn2, self.bn3 = affine(h), affine(h), affine(c)

    def forward(self, x):
        y = F.relu6(F.conv2d(x, self.expand) * self.bn1[0] + self.bn1[1])
        y = F.conv2d(y, self.depthwise, stride=1, padding=1, groups=y.shape[1])
        y = F.relu6(y * self.bn2[0] + self.bn2[1])
        y = F.conv2d(y, self.project) * self.bn3[0] + self.bn3[1]
        return x + y


def get_inputs():
    return [torch.randn(IMAGES, CHANNELS, RES, RES).to(torch.float16)]


def get_init_inputs():
    return [CHANNELS, EXPAND]
