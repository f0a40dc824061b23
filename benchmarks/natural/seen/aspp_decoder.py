"""Semantic segmentation decoder: parallel dilated convolutions with image-level context, then fusion with a finer
feature map and logits at full resolution."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 4
high_channels = 512
low_channels = 64
size = 33
num_classes = 21


def conv_bn_relu(cin, cout, kernel=1, dilation=1):
    padding = dilation * (kernel // 2)
    return nn.Sequential(
        nn.Conv2d(cin, cout, kernel, padding=padding, dilation=dilation, bias=False),
        nn.BatchNorm2d(cout),
        nn.ReLU(inplace=True),
    )


class Model(nn.Module):
    def __init__(self, high_channels, low_channels, num_classes, width=128, rates=(6, 12, 18)):
        super().__init__()
        self.branches = nn.ModuleList([conv_bn_relu(high_channels, width)])
        self.branches.extend(conv_bn_relu(high_channels, width, 3, rate) for rate in rates)
        self.context = conv_bn_relu(high_channels, width)
        self.merge = conv_bn_relu(width * (len(rates) + 2), width)
        self.low = conv_bn_relu(low_channels, 48)
        self.refine = conv_bn_relu(width + 48, width, 3)
        self.classify = nn.Conv2d(width, num_classes, 1)

    def forward(self, high, low):
        outs = [branch(high) for branch in self.branches]
        context = self.context(F.adaptive_avg_pool2d(high, 1))
        outs.append(context.expand(-1, -1, *high.shape[2:]))
        x = self.merge(torch.cat(outs, dim=1))
        x = F.interpolate(x, size=low.shape[2:], mode="bilinear", align_corners=False)
        x = self.refine(torch.cat([x, self.low(low)], dim=1))
        logits = self.classify(x)
        return F.interpolate(logits, scale_factor=4, mode="bilinear", align_corners=False)


def get_inputs():
    high = torch.randn(batch, high_channels, size, size)
    low = torch.randn(batch, low_channels, 4 * size - 3, 4 * size - 3)
    return [high, low]


def get_init_inputs():
    return [high_channels, low_channels, num_classes]
