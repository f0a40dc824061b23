import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, source, index, keep):
        return torch.gather(source, 1, index).masked_fill(~keep, 0.0)


def get_inputs():
    return (torch.randn(6, 20), torch.randint(0, 20, (6, 5), dtype=torch.int32).long(), torch.rand(6, 5) > 0.3)


def get_init_inputs():
    return ()
