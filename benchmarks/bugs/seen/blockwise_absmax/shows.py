"""A weight whose size no block divides, with larger values behind it in the same memory."""

import torch


def get_inputs(device):
    memory = torch.randn(2000, device=device)
    memory[13 * 101 :] += 50
    return [memory[: 13 * 101].view(13, 101)]
