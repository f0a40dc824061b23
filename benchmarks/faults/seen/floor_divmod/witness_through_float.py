import torch


def inputs(problem):
    a = torch.arange(16777216 - 50, 16777216 + 150, dtype=torch.int32) * 3
    b = torch.full_like(a, 3)
    return [a + 1, b]
