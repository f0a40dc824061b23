import torch


def inputs(problem):
    return [torch.arange(300.0).repeat(2, 1)]
