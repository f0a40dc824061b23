"""A sequence of which every key is hidden."""

import torch


def get_inputs(device):
    q, k, v = (torch.randn(3, 2, tokens, 16, device=device) for tokens in (3, 9, 9))
    return [q, k, v, torch.tensor([9, 0, 4], device=device)]
