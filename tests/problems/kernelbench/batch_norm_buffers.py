import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.bn = nn.BatchNorm2d(num_features=features)

    def forward(self, x):
        return self.bn(x)


batch_size, features, dim = 4, 6, 5


def get_inputs():
    return [torch.randn(batch_size, features, dim, dim)]


def get_init_inputs():
    return [features]
