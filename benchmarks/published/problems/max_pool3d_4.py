"""Maximum over dilated windows of a volume; kernel, stride, padding and dilation are arguments."""

import torch
import torch.nn as nn
import torch.nn.functional as F

n = 8
size = 32

CASES = [
    dict(name="full", n=8, size=32, dtype="float16"),
    dict(name="small", small=True, n=1, size=11, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x, kernel_size, stride, padding, dilation):
        return F.max_pool3d(x, kernel_size, stride, padding, dilation)


def get_inputs():
    return [torch.randn(n, 2, size, size, size), 3, 2, 1, 3]


def get_init_inputs():
    return []
