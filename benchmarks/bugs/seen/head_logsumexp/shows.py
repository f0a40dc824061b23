"""A vocabulary that is no multiple of the block."""

import torch


def get_inputs(device):
    return [torch.randn(19, 48, device=device), torch.randn(600, 48, device=device) / 7]
