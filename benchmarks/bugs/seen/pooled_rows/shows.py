"""Any table in half precision."""

import torch


def get_inputs(device):
    table = torch.randn(100, 40, device=device).half()
    return [table, torch.randint(0, 100, (6, 8), device=device), torch.rand(6, 8, device=device)]
