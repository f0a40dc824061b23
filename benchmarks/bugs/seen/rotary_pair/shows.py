"""Any inputs: the returned values are right, and the caller's queries and keys are gone."""

import torch


def get_inputs(device):
    angle = torch.rand(5, 8, device=device) * 6
    q, k = torch.randn(1, 3, 5, 16, device=device), torch.randn(1, 1, 5, 16, device=device)
    return [q, k, angle.cos(), angle.sin()]
