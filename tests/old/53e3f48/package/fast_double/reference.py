"""Twice the input, plus one."""
import torch

CASES = [dict(name="small", n=96, small=True), dict(name="large", n=4096)]
n = 4096


class Model(torch.nn.Module):
    def forward(self, x):
        return 2 * x + 1


def get_inputs():
    return [torch.randn(n)]


def get_init_inputs():
    return []
