"""Where in each row the maximum of every window of 3 is, stride 2; the first of several."""

import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 6


class Model(nn.Module):
    def forward(self, x):
        values, places = F.max_pool1d(x, 3, 2, return_indices=True)
        return values, places


CASES = [dict(name="small", dtype="float32", small=True), dict(name="timed", dtype="float32", rows=64)]


def get_inputs():
    return [torch.randn(rows, 41)]


def get_init_inputs():
    return []
