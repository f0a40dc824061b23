"""Fewer queries than keys."""

import torch


def get_inputs(device):
    return [torch.randn(1, 2, length, 32, device=device) for length in (7, 37, 37)]
