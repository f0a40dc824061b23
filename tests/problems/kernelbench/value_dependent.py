import random

import numpy as np
import torch
import torch.nn as nn


class Model(nn.Module):
    """Looks at the values of its input, and draws its inputs from three generators."""

    def forward(self, x):
        if x.mean().item() > 0:
            return x * 2
        return x - 1


def get_inputs():
    noise = torch.from_numpy(np.random.standard_normal((8, 4))).float()
    return [torch.randn(8, 4) + random.gauss(0, 1) + noise]


get_init_inputs = list
